import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerMigrations } from '#datasets/datasets.ts'
import { eachEngine, onSqlite } from '#ledger/each-engine.ts'
import type { Engine } from '#store/engine.ts'
import { oneTokenEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { commitDepsOf } from '#test/stepped-index.ts'
import type { EventFact } from '../events/event.ts'
import { type CommitDeps, type Feeding, transact } from '../transaction.ts'
import { Changes } from './changes.ts'
import { type FeedChange, readChanges, readFeedState } from './read-feed.ts'

const COMMITS = 40

const each = eachEngine(startPostgres, registerMigrations)
const ecosystem = oneTokenEcosystemAt('http://127.0.0.1:1')

each('commits of several chains at once never let a reader skip a change', async (store) => {
  const deps = await commitDepsOf(store.engine, ecosystem)
  await commit(deps, 1, 0)
  const chains = [1, 10, 8453].map(async (chainId) => {
    for (let block = 1; block <= COMMITS; block += 1) await commit(deps, chainId, block)
  })
  const writing = Promise.all(chains)
  const expected = chains.length * COMMITS
  const [read] = await Promise.all([readUntil(store.replica(), expected), writing])
  assert.deepEqual(
    read.map(({ sequence }) => sequence),
    Array.from({ length: expected }, (_, index) => index + 1),
  )
  for (const chainId of [1, 10, 8453]) {
    const blocks = read.filter(({ event }) => event.chainId === chainId)
    assert.deepEqual(
      blocks.map(({ event }) => event.blockNumber),
      Array.from({ length: COMMITS }, (_, index) => index + 1),
    )
  }
})

each('a range of history that the feed leaves out ends every cursor', async (store) => {
  const deps = await commitDepsOf(store.engine, ecosystem)
  await commit(deps, 1, 1)
  const before = await stateOf(store.engine)
  await commit(deps, 1, 2, 'gap')
  assert.equal((await stateOf(store.engine))?.epoch, before?.epoch, 'another chain goes on')
  await commit(deps, 1, 3)
  const after = await stateOf(store.engine)
  assert.notEqual(after?.epoch, before?.epoch)
  assert.equal(after?.pruned, after?.last)
})

test('only the newest changes are kept, and older cursors are known to be too old', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const deps = await commitDepsOf(engine, ecosystem)
    await commit(deps, 1, 0)
    for (let block = 1; block <= 12; block += 1) await commit(deps, 1, block, undefined, 9_000)
    const state = await stateOf(engine)
    assert.equal(state?.last, 108_000)
    assert.ok(state.pruned > 0 && state.last - state.pruned <= 101_000)
    const [first] = await engine.snapshot((reads) => readChanges(reads, { after: 0, limit: 1 }))
    assert.equal(first?.sequence, state.pruned + 1)
  }))

test('a commit of too many changes is not collected', () => {
  const changes = new Changes()
  const facts = Array.from({ length: 20_000 }, (_, index) => factAt(1, index))
  changes.add('burns', facts, [])
  assert.ok(changes.areTooMany)
  assert.ok(changes.added.length < 11_000)
})

function commit(
  deps: CommitDeps,
  chainId: number,
  block: number,
  feeding: Feeding = { finalizedBefore: 0 },
  count = 1,
): Promise<void> {
  return transact(
    deps,
    async () => ({ chainId, finalizedNumber: 0, isOlder: false, feeding }),
    async (change) => {
      const facts = Array.from({ length: count }, (_, index) => factAt(chainId, block, index))
      change.changes?.add('burns', facts, [])
    },
  )
}

function factAt(chainId: number, blockNumber: number, logIndex = 0): EventFact {
  const log = {
    chainId,
    blockNumber,
    blockHash: '0x1',
    txHash: '0x2',
    txIndex: 0,
    logIndex,
    timestamp: 1,
  }
  const fact = { kind: 'burn', token: 'GRAVE', account: null, amount: 1n, detail: null }
  return { ...fact, counted: true, log: log as EventFact['log'] }
}

async function readUntil(engine: Engine, count: number): Promise<readonly FeedChange[]> {
  const read: FeedChange[] = []
  while (read.length < count) {
    const after = read.at(-1)?.sequence ?? 0
    read.push(...(await engine.snapshot((reads) => readChanges(reads, { after, limit: 1_000 }))))
  }
  return read
}

function stateOf(engine: Engine) {
  return engine.snapshot(readFeedState)
}
