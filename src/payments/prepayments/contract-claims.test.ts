import assert from 'node:assert/strict'
import type { Engine } from '#db/engine.ts'
import { FakeChain } from '#test/payments/fake-chain.ts'
import {
  ALICE_KEY,
  claimedOf,
  codeOf,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  proofOf,
  wallet,
} from '#test/payments/payments-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { type ScriptedNode, startScriptedNode } from '#test/scripted-node.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const onBoth = eachEngine(startPostgres, HARNESS_MIGRATIONS)

const safe = wallet('safe')

/** A node whose contract wallet, if it is deployed, signed whatever is asked. */
async function withNode(
  engine: Engine,
  code: '0x' | '0x60',
  work: (harness: Harness, node: ScriptedNode) => Promise<void>,
): Promise<void> {
  const answers: Readonly<Record<string, string>> = {
    ...{ eth_chainId: '0x2105', eth_getCode: code, eth_call: `0x1626ba7e${'0'.repeat(56)}` },
  }
  const chain = new FakeChain()
  const node = await startScriptedNode({
    answer: ({ method, params: [block] }) =>
      method.startsWith('eth_getBlockBy') ? chain.headerOf(block) : answers[method],
  })
  try {
    const harness = await createHarness(engine, { chain, rpcUrls: [node.url] })
    await work(harness, node)
    assert.deepEqual(await harness.audit(), [])
  } finally {
    await node.stop()
  }
}

const claimOf = (tx: string, payerSignature = '0x01') => ({
  tx,
  payer: safe,
  more: { ...proofOf(safe, tx, ALICE_KEY), payerSignature },
})

onBoth(
  'a proof asks nodes only about an uncredited deposit of its payer, and only once',
  ({ engine }) =>
    withNode(engine, '0x60', async (harness, node) => {
      harness.pay('of-alice')
      for (const tx of ['never', 'of-alice'])
        assert.equal(codeOf(await harness.claim(claimOf(tx))), 'invalid_signature_format')
      assert.equal(node.count('eth_getCode'), 0)
      harness.pay('tx', 700_000n, safe)
      const { id } = claimedOf(await harness.claim(claimOf('tx')))
      assert.equal(claimedOf(await harness.claim(claimOf('tx'))).id, id)
      await harness.confirm()
      assert.equal(await harness.balance(ALICE_KEY), 700_000n)
      assert.equal(codeOf(await harness.claim(claimOf('tx'))), 200)
      assert.equal(codeOf(await harness.claim(claimOf('tx', '0x02'))), 'invalid_signature_format')
      assert.equal(node.count('eth_getCode'), 1)
      await harness.audit()
      assert.match(
        harness.notes.join('\n'),
        /^1 credits rest on proofs of contract wallets that cannot be asked again: /m,
      )
    }),
)

onBoth('where no contract is, the refusal is the one of a wallet of a key', ({ engine }) =>
  withNode(engine, '0x', async (harness, node) => {
    harness.pay('tx', 1n, safe)
    const refused = await harness.claim(claimOf('tx'))
    assert.ok(refused.kind === 'refusal')
    assert.match(refused.message, /, and no contract is deployed/)
    assert.equal(node.count('eth_getCode'), 1)
  }),
)
