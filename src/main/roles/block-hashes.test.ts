import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashHeader } from '#chains/chain/proofs/hash-header.ts'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import type { BlockHashAt } from '#money/payments/deposit.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { Refusal, type ScriptedNode, startScriptedNode } from '#test/scripted-node.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { blockHashes } from './block-hashes.ts'

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
const OTHER = blockOf(1_800_000_001)
const UNPROVEN = blockOf(1_800_000_000, `0x${'ee'.repeat(32)}`)

/** Looks up blocks outside the index's window through these nodes. */
async function askedOf(
  nodes: readonly ScriptedNode[],
  work: (hashAt: BlockHashAt, now: { ms: number }) => Promise<void>,
): Promise<void> {
  try {
    await onSqlite(registerMigrations, async ({ engine: register }) => {
      const { payment } = localEcosystemAt({})
      assert.ok(payment)
      const chain = { ...payment.chain, rpcUrls: nodes.map(({ url }) => url) }
      const now = { ms: 0 }
      const reads = { register, payment: { ...payment, chain } }
      await work(
        blockHashes(reads, () => now.ms),
        now,
      )
    })
  } finally {
    for (const node of nodes) await node.stop()
  }
}

interface Node {
  readonly block: typeof OURS | null
  readonly chainId?: number
}

/** The hash found when the nodes return these blocks. */
async function hashSaidBy(told: readonly Node[]): Promise<string | undefined> {
  const nodes: ScriptedNode[] = []
  let hash: string | undefined
  for (const { block, chainId = 8453 } of told)
    nodes.push(
      await startScriptedNode({
        answer: ({ method }) => (method === 'eth_chainId' ? `0x${chainId.toString(16)}` : block),
      }),
    )
  await askedOf(nodes, async (hashAt) => {
    hash = await hashAt(NUMBER)
  })
  return hash
}

test('a header that does not hash to its hash is ignored', async () => {
  assert.equal(await hashSaidBy([{ block: OURS }]), OURS.hash)
  assert.equal(await hashSaidBy([{ block: UNPROVEN }]), undefined)
  assert.equal(await hashSaidBy([{ block: OURS }, { block: UNPROVEN }]), undefined)
})

test('a hash is returned only if all reachable nodes agree on it', async () => {
  assert.equal(await hashSaidBy([{ block: OURS }, { block: OURS }]), OURS.hash)
  assert.equal(await hashSaidBy([{ block: OURS }, { block: OTHER }]), undefined)
  assert.equal(await hashSaidBy([{ block: OTHER }, { block: null }]), undefined)
  assert.equal(await hashSaidBy([{ block: OURS }, { block: OTHER, chainId: 1 }]), OURS.hash)
  assert.equal(await hashSaidBy([{ block: OTHER, chainId: 1 }]), undefined)
})

test('an unreachable node is asked once a minute, however many blocks there are', async () => {
  const node = await startScriptedNode({
    answer({ method, params }) {
      if (method === 'eth_chainId') return '0x2105'
      if (params[0] === 'latest') return OURS
      throw new Refusal('not for you')
    },
  })
  const asked = () =>
    node.requests.flat().filter(({ params }) => String(params[0]).startsWith('0x')).length
  await askedOf([node], async (hashAt, now) => {
    assert.equal(await hashAt(NUMBER), undefined)
    const once = asked()
    assert.ok(once > 0)
    for (let number = 0; number < 20; number += 1) assert.equal(await hashAt(number), undefined)
    assert.equal(asked(), once)
    now.ms += 60_000
    await hashAt(NUMBER)
    assert.ok(asked() > once)
  })
})
