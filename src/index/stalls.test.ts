import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { UnlinkedBlocksError } from '#chain/follow.ts'
import { registerMigrations } from '#data/datasets.ts'
import { buildMeta } from '#data/meta.ts'
import { ConstraintError, type Engine, StoreError } from '#db/engine.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt, type RunningIndexer, startIndexer } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { readinessOf } from '#test/readiness-harness.ts'
import { commitDepsOf } from '#test/stepped-index.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { readIndexStatus, readStalls, StallNote } from './status.ts'

const onEngines = eachEngine(startPostgres, registerMigrations)

const ecosystemOn = (url: string) => {
  const local = localEcosystemAt({ base: url })
  return { ...local, chains: local.chains.filter(({ name }) => name === 'base') }
}

/** The chain in `meta` and `/readyz` of any process. */
interface Shown {
  stalled(): Promise<string | null>
  readyz(): Promise<string>
}

/** Indexes a chain of 60 blocks; all but eight are final. */
async function onIndexed(
  engine: Engine,
  work: (node: ServedChain, shown: Shown) => Promise<void>,
): Promise<void> {
  const node = await serveChain(beginChain(8453, 1_700_000_000).addEmpty(60))
  const ecosystem = ecosystemOn(node.url)
  let indexer: RunningIndexer | undefined
  try {
    indexer = startIndexer({ ecosystem, register: engine })
    await indexer.caughtUp()
    const recentStatus = () => engine.snapshot((reads) => readIndexStatus(reads, ecosystem.chains))
    await work(node, {
      async stalled() {
        const status = await recentStatus()
        assert.ok(status !== undefined)
        const state = { status, nowUnix: 0, revision: '' }
        return buildMeta(ecosystem, state, {}).chains[0]?.stalled ?? null
      },
      async readyz() {
        const { parts } = await readinessOf(engine, ecosystem)
        return parts['chain base'] ?? ''
      },
    })
  } finally {
    await indexer?.stop()
    await node.stop()
  }
}

async function until(stalled: () => Promise<string | null>, wanted: string | null): Promise<void> {
  for (let left = 1_000; (await stalled()) !== wanted; left -= 1) {
    assert.ok(left > 0, `never ${wanted}`)
    await sleep(10)
  }
}

onEngines(
  'a reorg deeper than finality shows in meta until the chain is the old one again',
  (store) =>
    onIndexed(store.engine, async (node, { stalled, readyz }) => {
      const { chain } = node
      assert.equal(await stalled(), null)
      node.chain = chain.fork(20).addEmpty(60)
      await until(stalled, 'deep_reorg')
      assert.match(await readyz(), /; stalled \(deep_reorg\): .* older than finality allows/)
      node.chain = chain.addEmpty(3)
      await until(stalled, null)
    }),
)

onEngines('a node that can no longer be read shows in meta until it answers again', (store) =>
  onIndexed(store.engine, async (node, { stalled, readyz }) => {
    const { chain } = node
    node.faults.nullBlocks.add(62)
    node.chain = chain.addEmpty(4)
    await until(stalled, 'unreadable_node')
    assert.match(await readyz(), /; stalled \(unreadable_node\): .*does not know/)
    node.faults.nullBlocks.clear()
    await until(stalled, null)
  }),
)

onEngines(
  'one break between blocks does not stall a chain, a second one does',
  async ({ engine }) => {
    const { leader } = await commitDepsOf(engine, ecosystemOn('http://127.0.0.1:1'))
    const note = new StallNote({ engine, leader }, 8453)
    const reason = async () => (await engine.snapshot(readStalls)).get(8453)?.reason
    const broken = new UnlinkedBlocksError('block 7 does not follow 0xab; the chain moved')
    await note.failed(broken)
    await note.worked()
    await note.failed(broken)
    assert.equal(await reason(), undefined)
    await note.failed(broken)
    assert.equal(await reason(), 'unlinked_blocks')
    await new StallNote({ engine, leader }, 8453).worked()
    assert.equal(await reason(), undefined)
  },
)

onEngines('data that the store refuses stalls a chain, a store outage does not', async (store) => {
  const { engine } = store
  const { leader } = await commitDepsOf(engine, ecosystemOn('http://127.0.0.1:1'))
  const note = new StallNote({ engine, leader }, 8453)
  const reason = async () => (await engine.snapshot(readStalls)).get(8453)?.reason
  for (let round = 0; round < 3; round += 1) await note.failed(new StoreError('no connection'))
  assert.equal(await reason(), undefined)
  for (let round = 0; round < 2; round += 1) await note.failed(new ConstraintError('duplicate key'))
  assert.equal(await reason(), 'unusable_data')
})
