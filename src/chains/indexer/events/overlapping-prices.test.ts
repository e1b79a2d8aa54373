import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { PRICE_ONE } from '#domain/money.ts'
import type { Engine } from '#store/engine.ts'
import { sql, toStored } from '#store/sql.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { storeValued } from './store-events.ts'
import type { EventFact } from './sums.ts'
import { type PriceBook, unvalueEvents, valueEvents } from './value-events.ts'

const ONE = 10n ** 18n

const EVENTS = 3_000

/** A and B hang on ETH, B hangs on A too; a price is the second itself in dollars, from the third on. */
const book: PriceBook = {
  dependents: (symbol) => (symbol === 'ETH' ? ['ETH', 'A', 'B'] : ['A', 'B']),
  decimals: () => 18,
  knownUntil: async () => Number.POSITIVE_INFINITY,
  pricesAt: async (_connection, _symbol, moments) =>
    moments.map(({ unix }) => (unix < 3 ? null : BigInt(unix) * PRICE_ONE)),
}

const facts = Array.from({ length: EVENTS }, (_, index): EventFact => {
  const place = { chainId: 1, blockNumber: index, txIndex: 0, logIndex: 0 } as const
  const log = { ...place, timestamp: index % 100 }
  return {
    log: { ...log, blockHash: '0x1', txHash: '0x2' },
    kind: 'claim',
    token: index % 2 === 0 ? 'A' : 'B',
    account: '0xabc',
    amount: ONE,
    detail: null,
    counted: index % 7 !== 0,
  }
})

function dollarsOf(token: string): string {
  const valued = facts.filter((fact) => fact.counted && fact.token === token)
  const dollars = valued.map(({ log }) => (log.timestamp < 3 ? 0 : log.timestamp))
  const sum = dollars.reduce((total, each) => total + each, 0)
  return toStored(BigInt(sum) * 1_000_000n)
}

async function stateOf(engine: Engine): Promise<unknown> {
  return Promise.all([
    engine.read(sql`
      select token, grain, bucket_unix, amount, usd, events, priced from event_buckets
      order by token, grain, bucket_unix`),
    engine.read(sql`select token, account, usd, priced from event_account_sums order by token`),
  ])
}

test('values of events whose prices hang on one another are counted once, taken back whole, and found again', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const into = { dataset: 'dividends', byAccount: true }
    const values = facts.map(() => undefined)
    await engine.write((tx) => storeValued(tx, { into, facts, values }))
    const before = await stateOf(engine)
    assert.equal(await engine.write((tx) => valueEvents(tx, book, ['A', 'B', 'A'])), EVENTS)
    const valued = await stateOf(engine)
    const totals = await engine.read(
      sql`select usd from event_buckets where grain = 'total' order by token`,
    )
    assert.deepEqual(
      totals.map((row) => row.usd),
      ['A', 'B'].map(dollarsOf),
    )
    const moved = new Map([
      ['ETH', { fromUnix: 10, untilUnix: Number.POSITIVE_INFINITY }],
      ['A', { fromUnix: 0, untilUnix: 70 }],
    ])
    await engine.write((tx) => unvalueEvents(tx, book, moved))
    assert.deepEqual(await stateOf(engine), before)
    await engine.write((tx) => valueEvents(tx, book, ['B', 'A']))
    assert.deepEqual(await stateOf(engine), valued)
  }))
