import { type MicroUsd, type PriceE18, valueAt } from '#domain/money.ts'
import { chunks } from '#lib/chunks.ts'
import { groupBy } from '#lib/group-by.ts'
import { toStored } from '#lib/u256.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { ROWS_PER_STATEMENT, sql } from '#store/sql.ts'
import { typedValues } from '#store/typed-values.ts'
import type { Contribution } from './event.ts'
import { foldEvents } from './fold-events.ts'
import type { DatedAmount, TimeRange } from './moments.ts'
import { readContribution } from './store-events.ts'

/** What valuing needs of the prices, given by whoever knows them. */
export interface PriceBook {
  /** Tokens whose dollar price hangs on the price of `symbol`, itself among them. */
  dependents(symbol: string): readonly string[]
  /** Decimals of a token. */
  decimals(symbol: string): number
  /** The stretches of time in which blocks still to be read can add nothing to the token's price. */
  known(connection: Connection, symbol: string): Promise<readonly TimeRange[]>
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
 * Dollar values: null before a token's first price, undefined while blocks still to be read may
 * change the price of that moment. Values depend on the chains alone, not on the order of reading.
 */
export async function valuesOf(
  connection: Connection,
  book: PriceBook,
  amounts: readonly DatedAmount[],
): Promise<readonly (MicroUsd | null | undefined)[]> {
  const values: (MicroUsd | null | undefined)[] = amounts.map(() => undefined)
  const byToken = groupBy(amounts.keys(), (index) => amounts[index]?.token ?? '')
  for (const [token, indexes] of byToken) {
    const decimals = book.decimals(token)
    for (const range of await book.known(connection, token)) {
      const dated = indexes
        .map((index) => ({ index, unix: amounts[index]?.unix ?? 0 }))
        .filter(({ unix }) => unix >= range.fromUnix && unix <= range.untilUnix)
        .sort((a, b) => a.unix - b.unix)
      if (dated.length === 0) continue
      const moments = dated.map(({ unix }) => unix)
      const prices = await book.pricesAt(connection, token, moments)
      for (const [order, { index }] of dated.entries()) {
        const price = prices[order] ?? null
        values[index] =
          price === null ? null : valueAt(amounts[index]?.amount ?? 0n, decimals, price)
      }
    }
  }
  return values
}

/** Takes values back that a change of prices made doubtful; they are found anew. */
export async function unvalueEvents(
  connection: Connection,
  book: PriceBook,
  moved: ReadonlyMap<string, TimeRange>,
): Promise<void> {
  for (const [symbol, range] of moved)
    for (const token of book.dependents(symbol)) await unvalue(connection, token, range)
}

/**
 * Gives events their dollar value at the time they happened. An event waits until its price's chain
 * has passed its moment. Gives how many were valued.
 */
export async function valueEvents(
  connection: Connection,
  book: PriceBook,
  tokens: readonly string[],
): Promise<number> {
  let valued = 0
  for (const token of tokens) {
    for (const range of await book.known(connection, token))
      for (let some = EVENTS_MAX; some === EVENTS_MAX; valued += some)
        some = await valuePending(connection, book, token, range)
  }
  return valued
}

async function unvalue(connection: Connection, token: string, range: TimeRange): Promise<void> {
  const within = sql`token = ${token} and valued = 1
    and timestamp_unix >= ${finite(range.fromUnix)} and timestamp_unix <= ${finite(range.untilUnix)}`
  const stale = await connection.run(sql`
    select dataset, chain_id, block_number, log_index, token, account, timestamp_unix, amount, usd, counted
    from events where ${within}`)
  if (stale.length === 0) return
  await connection.run(sql`update events set valued = 0, usd = null where ${within}`)
  const lost = stale.map((row) => ({
    row,
    usd: -readContribution(row).sums.usd,
    priced: row.usd === null ? 0 : -1,
  }))
  await foldValues(connection, lost)
}

/** Databases have no infinite integers. */
function finite(unix: number): number {
  return Math.max(-1, Math.min(unix, Number.MAX_SAFE_INTEGER))
}

async function valuePending(
  connection: Connection,
  book: PriceBook,
  token: string,
  range: TimeRange,
): Promise<number> {
  const pending = await connection.run(sql`
    select dataset, chain_id, block_number, log_index, token, account, timestamp_unix, amount, usd, counted
    from events
    where token = ${token} and valued = 0 and timestamp_unix >= ${finite(range.fromUnix)}
      and timestamp_unix <= ${finite(range.untilUnix)}
    order by timestamp_unix limit ${EVENTS_MAX}`)
  if (pending.length === 0) return 0
  const values = await valuesOf(
    connection,
    book,
    pending.map((row) => ({
      token,
      amount: column.u256(row, 'amount'),
      unix: column.integer(row, 'timestamp_unix'),
    })),
  )
  const gained = pending.map((row, index) => {
    const usd = values[index] ?? null
    return { row, usd: usd ?? 0n, priced: usd === null ? 0 : 1 }
  })
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
    await foldEvents(
      connection,
      // A value is no event: where accounts are not summed there is none to add it to.
      { dataset, keepHours: true, byAccount: true },
      group.map(toContribution),
    )
}

function toContribution({ row, usd, priced }: ValueChange): Contribution {
  return { ...readContribution(row), sums: { amount: 0n, usd, events: 0, priced } }
}
