import { type PriceE18, valueAt } from '#domain/money.ts'
import { chunks } from '#lib/chunks.ts'
import { groupBy } from '#lib/group-by.ts'
import { toStored } from '#lib/u256.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { ROWS_PER_STATEMENT, sql } from '#store/sql.ts'
import { typedValues } from '#store/typed-values.ts'
import type { Contribution } from './event.ts'
import { foldEvents } from './fold-events.ts'
import { readContribution } from './store-events.ts'

/** What valuing needs of the prices, given by whoever knows them. */
export interface PriceBook {
  /** Tokens whose dollar price hangs on the price of `symbol`, itself among them. */
  dependents(symbol: string): readonly string[]
  /** Decimals of a token. */
  decimals(symbol: string): number
  /**
   * Up to which moment the token's price can no longer be added to by blocks still to come, in Unix
   * seconds; Infinity when it never changes.
   */
  knownUntil(connection: Connection, symbol: string): Promise<number>
  /** Prices at rising moments (Unix seconds): the last one at or before each, null before the first. */
  pricesAt(
    connection: Connection,
    symbol: string,
    moments: readonly number[],
  ): Promise<readonly (PriceE18 | null)[]>
}

/** Rows held in memory at once. */
const EVENTS_MAX = 20_000

/**
 * Gives events their dollar value at the time they happened. The value depends on the chains alone,
 * not on the order in which they were indexed: an event waits until its price's chain has passed its
 * moment, and is valued anew when a reorg or a late block changes that price. Gives how many were
 * valued.
 */
export async function valueEvents(
  connection: Connection,
  book: PriceBook,
  moved: ReadonlyMap<string, number>,
  tokens: readonly string[],
): Promise<number> {
  for (const [symbol, fromUnix] of moved)
    for (const token of book.dependents(symbol)) await unvalue(connection, token, fromUnix)
  let valued = 0
  for (const token of tokens) {
    for (let some = EVENTS_MAX; some === EVENTS_MAX; valued += some)
      some = await valuePending(connection, book, token)
  }
  return valued
}

async function unvalue(connection: Connection, token: string, fromUnix: number): Promise<void> {
  const stale = await connection.run(sql`
    select dataset, chain_id, block_number, log_index, token, account, timestamp_unix, amount, usd, counted
    from events where token = ${token} and timestamp_unix >= ${fromUnix} and valued = 1`)
  if (stale.length === 0) return
  await connection.run(sql`
    update events set valued = 0, usd = null
    where token = ${token} and timestamp_unix >= ${fromUnix} and valued = 1`)
  const lost = stale.map((row) => ({
    row,
    usd: -readContribution(row).sums.usd,
    priced: row.usd === null ? 0 : -1,
  }))
  await foldValues(connection, lost)
}

async function valuePending(
  connection: Connection,
  book: PriceBook,
  token: string,
): Promise<number> {
  const until = await book.knownUntil(connection, token)
  const pending = await connection.run(sql`
    select dataset, chain_id, block_number, log_index, token, account, timestamp_unix, amount, usd, counted
    from events
    where token = ${token} and valued = 0 and timestamp_unix <= ${Math.min(until, Number.MAX_SAFE_INTEGER)}
    order by timestamp_unix limit ${EVENTS_MAX}`)
  if (pending.length === 0) return 0
  const moments = pending.map((row) => column.integer(row, 'timestamp_unix'))
  const prices = await book.pricesAt(connection, token, moments)
  const gained = []
  for (const [index, row] of pending.entries()) {
    const price = prices[index] ?? null
    const amount = column.u256(row, 'amount')
    const usd = price === null ? 0n : valueAt(amount, book.decimals(token), price)
    gained.push({ row, usd, priced: price === null ? 0 : 1 })
  }
  await setValues(connection, gained)
  await foldValues(connection, gained)
  return pending.length
}

async function setValues(connection: Connection, changes: readonly ValueChange[]): Promise<void> {
  for (const part of chunks(changes, ROWS_PER_STATEMENT)) {
    const list = part.map(({ row, usd, priced }) => [
      column.text(row, 'dataset'),
      column.integer(row, 'chain_id'),
      column.integer(row, 'block_number'),
      column.integer(row, 'log_index'),
      priced === 0 ? null : toStored(usd),
    ])
    await connection.run(sql`
      update events set valued = 1, usd = given.column5
      from (${typedValues(['text', 'bigint', 'bigint', 'bigint', 'text'], list)}) as given
      where events.dataset = given.column1 and events.chain_id = given.column2
        and events.block_number = given.column3 and events.log_index = given.column4`)
  }
}

interface ValueChange {
  readonly row: Row
  readonly usd: bigint
  readonly priced: number
}

async function foldValues(connection: Connection, changes: readonly ValueChange[]): Promise<void> {
  const counted = changes.filter(({ row, priced }) => priced !== 0 && column.flag(row, 'counted'))
  for (const [dataset, group] of groupBy(counted, ({ row }) => column.text(row, 'dataset')))
    await foldEvents(connection, dataset, group.map(toContribution))
}

function toContribution({ row, usd, priced }: ValueChange): Contribution {
  return { ...readContribution(row), sums: { amount: 0n, usd, events: 0, priced } }
}
