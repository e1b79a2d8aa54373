import { type MicroUsd, type Price, valueAt } from '#domain/money.ts'
import { allEnded } from '#lib/async.ts'
import { chunks } from '#lib/chunks.ts'
import type { Connection } from '#store/engine.ts'
import { column, ROWS_PER_STATEMENT, type Row, sql, toStored } from '#store/sql.ts'
import { typedValues } from '#store/typed-values.ts'
import { readFinalTimes } from '../positions.ts'
import { foldEvents } from './fold-events.ts'
import { LIST_COLUMNS } from './list-events.ts'
import { readContribution } from './sums.ts'

export interface PriceBook {
  readonly symbols: readonly string[]
  dependents(symbol: string): readonly string[]
  decimals(symbol: string): number
  /** The chains whose events move the token's price in dollars. */
  chainIds(symbol: string): ReadonlySet<number>
  /**
   * Returns prices at the close of the block before each moment's (of another chain than the price's, before that second); null where unknown.
   */
  pricesAt(
    connection: Connection,
    symbol: string,
    moments: readonly EventMoment[],
  ): Promise<readonly (Price | null)[]>
}

interface Valuing {
  readonly connection: Connection
  readonly chainId: number
  readonly prices: PriceBook
}

export interface EventMoment {
  readonly unix: number
  /** Null for the end of that second, after the blocks of all chains. */
  readonly chainId: number | null
  readonly blockNumber: number
}

export interface DatedAmount {
  readonly token: string
  readonly amount: bigint
  readonly unix: number
  readonly chainId: number
  readonly blockNumber: number
}

/** No pool and no feed is worth as much; beyond it, a figure is taken for unknown. */
const VALUE_MAX = 2n ** 256n - 1n

const EVENTS_MAX = 20_000

/**
 * Values events of the chain, once for all: the blocks before them are stored. Null before a token's first price or above
 * the most; undefined where another chain moves the price and is not final up to the event.
 */
export async function valuesOf(
  { connection, chainId, prices: book }: Valuing,
  amounts: readonly DatedAmount[],
): Promise<readonly (MicroUsd | null | undefined)[]> {
  const values: (MicroUsd | null | undefined)[] = amounts.map(() => undefined)
  if (amounts.length === 0) return values
  const finalTimes = await readFinalTimes(connection)
  const byToken = Map.groupBy(amounts.entries(), ([, { token }]) => token)
  const valued = [...byToken].map(async ([token, entries]) => {
    const untilUnix = knownUntil(book.chainIds(token), chainId, finalTimes)
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

/** Up to when events of a chain can be valued, as far as the other chains that move the price are final. */
function knownUntil(
  priceChains: ReadonlySet<number>,
  chainId: number,
  finalTimes: ReadonlyMap<number, number>,
): number {
  const others = [...priceChains].filter((id) => id !== chainId)
  return Math.min(...others.map((id) => finalTimes.get(id) ?? -1))
}

/** Collects what the feed must show. */
interface ChangedValues {
  value(row: Row, usd: MicroUsd): void
}

interface Pending {
  readonly token: string
  readonly chainId: number
  readonly untilUnix: number
}

/** Values events that waited for the chain of a price to be final up to them. */
export async function valueEvents(
  connection: Connection,
  book: PriceBook,
  changes: ChangedValues,
): Promise<void> {
  const finalTimes = await readFinalTimes(connection)
  const pending = book.symbols.flatMap((token) =>
    [...finalTimes.keys()].flatMap((chainId): readonly Pending[] => {
      const untilUnix = knownUntil(book.chainIds(token), chainId, finalTimes)
      return Number.isFinite(untilUnix) ? [{ token, chainId, untilUnix }] : []
    }),
  )
  const first = await allEnded(pending.map((each) => readPending(connection, each, 1)))
  for (const [index, each] of pending.entries()) {
    let more = (first[index] ?? []).length > 0
    while (more) {
      const events = await readPending(connection, each, EVENTS_MAX)
      await valuePending({ connection, prices: book, chainId: each.chainId }, events, changes)
      more = events.length === EVENTS_MAX
    }
  }
}

/** The index gives the order, or PostgreSQL may scan the table on stale statistics. */
function readPending(
  connection: Connection,
  { token, chainId, untilUnix }: Pending,
  limit: number,
): Promise<readonly Row[]> {
  return connection.run(sql`
    select dataset, counted, ${LIST_COLUMNS} from events
    where token = ${token} and chain_id = ${chainId} and valued = 0 and timestamp_unix <= ${untilUnix}
    order by timestamp_unix limit ${limit}`)
}

async function valuePending(
  change: Valuing,
  events: readonly Row[],
  changes: ChangedValues,
): Promise<void> {
  const values = await valuesOf(
    change,
    events.map((row) => ({
      token: column.text(row, 'token'),
      amount: column.bigint(row, 'amount'),
      unix: column.integer(row, 'timestamp_unix'),
      chainId: column.integer(row, 'chain_id'),
      blockNumber: column.integer(row, 'block_number'),
    })),
  )
  const valued = events.map((row, index) => ({ row, usd: values[index] ?? null }))
  await setValues(change.connection, valued)
  const known = valued.flatMap(({ row, usd }) => (usd === null ? [] : [{ row, usd }]))
  for (const { row, usd } of known) changes.value(row, usd)
  const counted = known.filter(({ row }) => column.flag(row, 'counted'))
  for (const [dataset, group] of Map.groupBy(counted, ({ row }) => column.text(row, 'dataset'))) {
    const contributions = group.map(({ row, usd }) => ({
      ...readContribution(row),
      sums: { amount: 0n, usd, events: 0, priced: 1 },
    }))
    await foldEvents(change.connection, { dataset, byAccount: true }, contributions)
  }
}

async function setValues(
  connection: Connection,
  events: readonly { readonly row: Row; readonly usd: MicroUsd | null }[],
): Promise<void> {
  for (const part of chunks(events, ROWS_PER_STATEMENT)) {
    const list = part.map(({ row, usd }) => [
      column.text(row, 'dataset'),
      column.integer(row, 'chain_id'),
      column.integer(row, 'block_number'),
      column.integer(row, 'place'),
      usd === null ? null : toStored(usd),
    ])
    const types = ['text', 'bigint', 'bigint', 'bigint', 'text'] as const
    await connection.run(sql`
      update events set valued = 1, usd = given.column5
      from (${typedValues(types, list)}) as given
      where events.dataset = given.column1 and events.chain_id = given.column2
        and events.block_number = given.column3 and events.place = given.column4`)
  }
}
