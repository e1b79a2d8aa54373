import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unixNow } from '#base/time.ts'
import { registerMigrations } from '#data/datasets.ts'
import type { Engine } from '#db/engine.ts'
import { oneTokenEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { commitDepsOf } from '#test/stepped-index.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import type { CommitDeps } from './commit.ts'
import type { EventFact } from './event.ts'
import { Changes, type FeedCursor, type FeedItem, readEnd, readPage, writeFeed } from './feed.ts'

const COMMITS = 40

const each = eachEngine(startPostgres, registerMigrations)
const ecosystem = oneTokenEcosystemAt('http://127.0.0.1:1')

each('commits of several chains at once never let a reader skip a change', async (store) => {
  const deps = commitDepsOf(store.engine, ecosystem)
  await commit(deps, 1, 0)
  const chains = [1, 10, 8453].map(async (chainId) => {
    for (let block = 1; block <= COMMITS; block += 1) await commit(deps, chainId, block)
  })
  const writing = Promise.all(chains)
  const expected = chains.length * COMMITS
  const [read] = await Promise.all([readUntil(store.replica(), expected), writing])
  assert.deepEqual(
    read.map(({ change }) => change.sequence),
    Array.from({ length: expected }, (_, index) => index + 2),
  )
  for (const chainId of [1, 10, 8453]) {
    const blocks = read.filter(({ change }) => change.event.chainId === chainId)
    assert.deepEqual(
      blocks.map(({ change }) => change.event.blockNumber),
      Array.from({ length: COMMITS }, (_, index) => index + 1),
    )
  }
})

each(
  'a range of history that the feed leaves out is a reset, and deletes nothing',
  async (store) => {
    const deps = await commitDepsOf(store.engine, ecosystem)
    await commit(deps, 1, 1)
    const before = await endOf(store.engine)
    await commit(deps, 10, 1)
    await commit(deps, 1, 2, { isHistory: true })
    await commit(deps, 10, 2)
    await commit(deps, 1, 3)
    const items = await readAfter(store.engine, before)
    assert.deepEqual(
      items.map(({ change: { op, event } }) => [
        op,
        event.chainId,
        event.blockNumber,
        event.detail,
      ]),
      [
        ['add', 10, 1, null],
        ['reset', 1, -1, '1'],
        ['add', 10, 2, null],
        ['add', 1, 3, null],
      ],
    )
  },
)

each('a commit of too many changes resets what it touched', async (store) => {
  const deps = await commitDepsOf(store.engine, ecosystem)
  await commit(deps, 1, 1)
  const before = await endOf(store.engine)
  await commit(deps, 1, 2, undefined, 20_000)
  await commit(deps, 1, 3)
  const items = await readAfter(store.engine, before)
  assert.deepEqual(
    items.map(({ change: { op, event } }) => [op, event.detail]),
    [
      ['reset', '2'],
      ['add', null],
    ],
  )
})

test('changes are kept for seven days, and a cursor of one that is gone is known', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    let nowMs = 1_700_000_000_000
    const deps = { ...(await commitDepsOf(engine, ecosystem)), clock: () => nowMs }
    await commit(deps, 1, 0)
    const first = await endOf(engine)
    await commit(deps, 1, 1, undefined, 3_000)
    const kept = await endOf(engine)
    nowMs += 8 * 86_400_000
    for (let block = 2; block < 5; block += 1) await commit(deps, 1, block)
    assert.equal(await pageAfter(engine, first), 'lost')
    assert.equal((await readAfter(engine, kept)).length, 3)
  }))

each(
  'a cursor of a commit that was lost is gone, though its sequence is taken again',
  async (store) => {
    const deps = await commitDepsOf(store.engine, ecosystem)
    await commit(deps, 1, 1)
    await commit(deps, 1, 2)
    const end = await endOf(store.engine)
    assert.deepEqual(await readAfter(store.engine, end), [])
    assert.equal(await pageAfter(store.engine, { ...end, hash: '00000000' }), 'lost')
    assert.equal(await pageAfter(store.engine, { ...end, sequence: end.sequence + 1 }), 'lost')
    assert.equal(await pageAfter(store.engine, { ...end, epoch: '0'.repeat(12) }), 'lost')
  },
)

function commit(
  { engine, leader, prices, clock }: CommitDeps,
  chainId: number,
  block: number,
  kind: { readonly isHistory?: boolean } = {},
  count = 1,
): Promise<void> {
  return engine.write(async (connection) => {
    await leader.hold(connection)
    const changes = new Changes()
    const facts = Array.from({ length: count }, (_, index) => factAt(chainId, block, index))
    if (kind.isHistory !== true) changes.add('burns', facts, [])
    const when = { finalizedBefore: 0, finalizedNumber: 0, nowUnix: unixNow(clock) }
    await writeFeed(connection, prices, { chainId, changes, ...when, ...kind })
  })
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

async function readUntil(engine: Engine, count: number): Promise<readonly FeedItem[]> {
  const read: FeedItem[] = []
  while (read.length < count) {
    const cursor = read.at(-1)?.cursor ?? (await startOf(engine))
    if (cursor !== undefined) read.push(...(await readAfter(engine, cursor)))
  }
  return read
}

async function startOf(engine: Engine): Promise<FeedCursor | undefined> {
  const end = await engine.snapshot(readEnd)
  return end && { ...end, sequence: 1, hash: '' }
}

async function endOf(engine: Engine): Promise<FeedCursor> {
  const end = await engine.snapshot(readEnd)
  assert.ok(end !== undefined)
  return end
}

function pageAfter(engine: Engine, cursor: FeedCursor) {
  const input = { cursor, finality: 'latest', datasets: ['burns'], limit: 1_000 } as const
  return engine.snapshot((reads) => readPage(reads, input))
}

async function readAfter(engine: Engine, cursor: FeedCursor): Promise<readonly FeedItem[]> {
  const page = await pageAfter(engine, cursor)
  assert.ok(typeof page === 'object', String(page))
  return page.items
}
