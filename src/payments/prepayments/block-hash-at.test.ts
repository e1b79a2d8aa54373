import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashHeader } from '#chain/parse-rpc.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startScriptedNode } from '#test/scripted-node.ts'
import { testContext } from '#test/test-context.ts'
import { blockHashAt } from './scan-deposits.ts'

const NUMBER = 5
const zeros = (length: number) => `0x${'00'.repeat(length)}`

/** A block with its true hash, unless another one is given. */
function blockOf(timestamp: number, hash?: string) {
  const fields = {
    ...{ parentHash: zeros(32), sha3Uncles: zeros(32), miner: zeros(20), stateRoot: zeros(32) },
    ...{ transactionsRoot: zeros(32), receiptsRoot: zeros(32), logsBloom: zeros(256) },
    ...{ difficulty: '0x0', number: '0x5', gasLimit: '0x1', gasUsed: '0x0', extraData: '0x' },
    ...{ timestamp: `0x${timestamp.toString(16)}`, mixHash: zeros(32), nonce: zeros(8) },
  }
  return { ...fields, transactions: [], hash: hash ?? hashHeader(fields) ?? 'no hash' }
}

const OURS = blockOf(1_800_000_000)
const UNPROVEN = blockOf(1_800_000_000, `0x${'ee'.repeat(32)}`)

/** The hash that is believed when a node returns this block. */
async function hashSaidBy(block: typeof OURS | null): Promise<string | undefined> {
  const node = await startScriptedNode({
    answer: ({ method }) => (method === 'eth_chainId' ? '0x2105' : block),
  })
  try {
    return await blockHashAt(
      testContext({ ecosystem: localEcosystemAt({ base: node.url }) }),
      NUMBER,
    )
  } finally {
    await node.stop()
  }
}

test('a header that does not hash to its hash is ignored', async () => {
  assert.equal(await hashSaidBy(OURS), OURS.hash)
  assert.equal(await hashSaidBy(UNPROVEN), undefined)
  assert.equal(await hashSaidBy(null), undefined)
})
