import { type MicroUsd, type Price, valueAt } from '#domain/money.ts'
import { allEnded } from '#lib/async.ts'
import { chunks } from '#lib/chunks.ts'
import type { Connection } from '#store/engine.ts'
import { column, ROWS_PER_STATEMENT, type Row, type Sql, sql, toStored } from '#store/sql.ts'
import { typedValues } from '#store/typed-values.ts'
import type { DatedAmount, TimeRange } from '../dataset.ts'
import type { Changes } from '../feed/changes.ts'
import { foldEvents } from './fold-events.ts'
import { LIST_COLUMNS } from './list-events.ts'
import { type Contribution, readContribution } from './sums.ts'

export interface PriceBook {
  dependents(symbol: string): readonly string[]
  decimals(symbol: string): number
  /** Up to which second unread blocks cannot change the token's price; Infinity for fixed prices. */
  knownUntil(connection: Connection, symbol: string): Promise<number>
  /**
   * Returns prices at the close of the block before each moment's (of another chain than the price's, before that second); null where unknown.
   */
  pricesAt(
    connection: Connection,
    symbol: string,
    moments: readonly EventMoment[],
  ): Promise<readonly (Price | null)[]>
}

export interface EventMoment {
  readonly unix: number
  /** Null for the end of that second, after the blocks of all chains. */
  readonly chainId: number | null
  readonly blockNumber: number
}

/** No pool and no feed is worth as much; beyond it, a figure is taken for unknown. */
const VALUE_MAX = 2n ** 256n - 1n

const EVENTS_MAX = 20_000

/** Null before a token's first price or above the most, undefined while unread blocks may change it. */
export async function valuesOf(
  connection: Connection,
  book: PriceBook,
  amounts: readonly DatedAmount[],
): Promise<readonly (MicroUsd | null | undefined)[]> {
  const values: (MicroUsd | null | undefined)[] = amounts.map(() => undefined)
  const byToken = Map.groupBy(amounts.entries(), ([, { token }]) => token)
  const valued = [...byToken].map(async ([token, entries]) => {
    const untilUnix = await book.knownUntil(connection, token)
    const dated = entries.filter(([, { unix }]) => unix <= untilUnix)
    if (dated.length === 0) return
    const moments = dated.map(([, each]) => each)
    const prices = await book.pricesAt(connection, token, moments)
    for (const [order, [index, { amount }]] of dated.entries()) {
      const price = prices[order] ?? null
      const value = price === null ? null : valueAt(amount, book.decimals(token), price)
      values[index] = value === null || value > VALUE_MAX ? null : value
    }
  })
  await allEnded(valued)
  return values
}

export async function unvalueEvents(
  connection: Connection,
  book: PriceBook,
  moved: ReadonlyMap<string, TimeRange>,
  changes?: Changes,
): Promise<void> {
  const doubtful = [...moved].flatMap(([symbol, range]) =>
    book.dependents(symbol).map((token) => ({ token, range })),
  )
  for (const each of await having(connection, doubtful, VALUED))
    await unvalue(connection, each, changes)
}

/** An event waits until the price's chain has passed it. Returns the number of events valued. */
export async function valueEvents(
  connection: Connection,
  book: PriceBook,
  tokens: readonly string[],
  changes?: Changes,
): Promise<number> {
  const wanted = await allEnded(
    tokens.map(async (token) => {
      const untilUnix = await book.knownUntil(connection, token)
      return { token, range: { fromUnix: 0, untilUnix } }
    }),
  )
  let valued = 0
  for (const each of await having(connection, wanted, NOT_VALUED))
    for (let some = EVENTS_MAX; some === EVENTS_MAX; valued += some)
      some = await valuePending(connection, { book, changes }, each)
  return valued
}

interface TokenRange {
  readonly token: string
  readonly range: TimeRange
}

const VALUED = sql`valued = 1`
const NOT_VALUED = sql`valued = 0`

function within({ token, range }: TokenRange, which: Sql): Sql {
  return sql`token = ${token} and ${which} and timestamp_unix >= ${finite(range.fromUnix)}
    and timestamp_unix <= ${finite(range.untilUnix)}`
}

/** Returns the ranges with such events, usually none. The index gives the order, or PostgreSQL may scan the table on stale statistics. */
async function having(
  connection: Connection,
  ranges: readonly TokenRange[],
  which: Sql,
): Promise<readonly TokenRange[]> {
  const found = await allEnded(
    ranges.map((each) =>
      connection.run(sql`
        select 1 from events where ${within(each, which)} order by timestamp_unix limit 1`),
    ),
  )
  return ranges.filter((_, index) => found[index]?.length === 1)
}

async function unvalue(
  connection: Connection,
  { token, range }: TokenRange,
  changes?: Changes,
): Promise<void> {
  let { fromUnix } = range
  for (let some = EVENTS_MAX; some === EVENTS_MAX; ) {
    const valued = within({ token, range: { ...range, fromUnix } }, VALUED)
    const stale = await connection.run(sql`
      select dataset, counted, ${LIST_COLUMNS}
      from events where ${valued} order by timestamp_unix limit ${EVENTS_MAX}`)
    some = stale.length
    fromUnix = Number(stale.at(-1)?.timestamp_unix ?? fromUnix)
    await setValues(
      connection,
      stale.map((row) => ({ row, value: undefined })),
      changes,
    )
    const lost = stale.map((row) => ({
      row,
      usd: -readContribution(row).sums.usd,
      priced: row.usd === null ? 0 : -1,
    }))
    await foldValues(connection, lost)
  }
}

/** The end of a range as an integer, which in a database is never infinite. */
function finite(unix: number): number {
  return Math.max(-1, Math.min(unix, Number.MAX_SAFE_INTEGER))
}

async function valuePending(
  connection: Connection,
  { book, changes }: { readonly book: PriceBook; readonly changes: Changes | undefined },
  range: TokenRange,
): Promise<number> {
  const pending = await connection.run(sql`
    select dataset, counted, ${LIST_COLUMNS}
    from events where ${within(range, NOT_VALUED)} order by timestamp_unix limit ${EVENTS_MAX}`)
  if (pending.length === 0) return 0
  const values = await valuesOf(
    connection,
    book,
    pending.map((row) => ({
      token: range.token,
      amount: column.bigint(row, 'amount'),
      unix: column.integer(row, 'timestamp_unix'),
      chainId: column.integer(row, 'chain_id'),
      blockNumber: column.integer(row, 'block_number'),
    })),
  )
  const found = pending.map((row, index) => ({ row, value: values[index] ?? null }))
  await setValues(connection, found, changes)
  const gained = found.map(({ row, value }) => ({
    row,
    usd: value ?? 0n,
    priced: value === null ? 0 : 1,
  }))
  await foldValues(connection, gained)
  return pending.length
}

/** Null: no price; undefined: pending. */
async function setValues(
  connection: Connection,
  events: readonly { readonly row: Row; readonly value: MicroUsd | null | undefined }[],
  changes: Changes | undefined,
): Promise<void> {
  for (const { row, value } of events) changes?.value(row, value ?? null)
  for (const part of chunks(events, ROWS_PER_STATEMENT)) {
    const list = part.map(({ row, value }) => [
      column.text(row, 'dataset'),
      column.integer(row, 'chain_id'),
      column.integer(row, 'block_number'),
      column.integer(row, 'place'),
      value === undefined ? 0 : 1,
      value == null ? null : toStored(value),
    ])
    const types = ['text', 'bigint', 'bigint', 'bigint', 'bigint', 'text'] as const
    await connection.run(sql`
      update events set valued = given.column5, usd = given.column6
      from (${typedValues(types, list)}) as given
      where events.dataset = given.column1 and events.chain_id = given.column2
        and events.block_number = given.column3 and events.place = given.column4`)
  }
}

interface ValueChange {
  readonly row: Row
  readonly usd: bigint
  readonly priced: number
}

async function foldValues(connection: Connection, changes: readonly ValueChange[]): Promise<void> {
  const counted = changes.filter(({ row, priced }) => priced !== 0 && column.flag(row, 'counted'))
  for (const [dataset, group] of Map.groupBy(counted, ({ row }) => column.text(row, 'dataset')))
    await foldEvents(connection, { dataset, byAccount: true }, group.map(toContribution))
}

function toContribution({ row, usd, priced }: ValueChange): Contribution {
  return { ...readContribution(row), sums: { amount: 0n, usd, events: 0, priced } }
}
