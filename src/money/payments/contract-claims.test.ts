import assert from 'node:assert/strict'
import type { WalletNode } from '#chains/chain/contract-signature.ts'
import {
  ALICE_KEY,
  audited,
  claimedOf,
  codeOf,
  HARNESS_MIGRATIONS,
  type Harness,
  NO_CONTRACTS,
  proofOf,
  wallet,
} from '#test/payments/payments-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const withPayments = audited(eachEngine(startPostgres, HARNESS_MIGRATIONS))

const safe = wallet('safe')

function countCalls(harness: Harness, node: WalletNode): { count: number } {
  const calls = { count: 0 }
  harness.nodes[0] = {
    code: (account) => {
      calls.count += 1
      return node.code(account)
    },
    call: node.call,
  }
  return calls
}

const deployed: WalletNode = {
  code: async () => '0x60',
  call: async () => `0x1626ba7e${'0'.repeat(56)}`,
}

const claimOf = (tx: string, payerSignature = '0x01') => ({
  tx,
  payer: safe,
  more: { ...proofOf(safe, tx, ALICE_KEY), payerSignature },
})

withPayments(
  'a proof asks nodes only about an uncredited deposit of its payer, and only once',
  async (harness) => {
    const calls = countCalls(harness, deployed)
    harness.pay('of-alice')
    for (const tx of ['never', 'of-alice'])
      assert.equal(codeOf(await harness.claim(claimOf(tx))), 'invalid_signature')
    assert.equal(calls.count, 0)
    harness.pay('tx', 700_000n, safe)
    const { id } = claimedOf(await harness.claim(claimOf('tx')))
    assert.equal(claimedOf(await harness.claim(claimOf('tx'))).id, id)
    await harness.confirm()
    assert.equal(await harness.balance(ALICE_KEY), 700_000n)
    assert.equal(codeOf(await harness.claim(claimOf('tx'))), 200)
    assert.equal(codeOf(await harness.claim(claimOf('tx', '0x02'))), 'invalid_signature')
    assert.equal(calls.count, 1)
    await harness.audit()
    assert.match(
      harness.notes.join('\n'),
      /^1 credits rest on proofs of contract wallets that cannot be asked again: /m,
    )
  },
)

withPayments(
  'where no contract is, the refusal is the one of a wallet of a key',
  async (harness) => {
    const calls = countCalls(harness, NO_CONTRACTS)
    harness.pay('tx', 1n, safe)
    const refused = await harness.claim(claimOf('tx'))
    assert.ok(refused.kind === 'refusal')
    assert.match(refused.message, /^not signed by the payer, and no contract is deployed/)
    assert.equal(calls.count, 1)
  },
)
