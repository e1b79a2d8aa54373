import { allEnded } from '#base/async.ts'
import { chunks } from '#base/chunks.ts'
import { type MicroUsd, type Price, valueAt } from '#base/money.ts'
import { startOfDay, startOfHour } from '#base/time.ts'
import type { BulkInsert, Connection } from '#db/engine.ts'
import { column, ROWS_PER_STATEMENT, type Row, sql, toStored } from '#db/sql.ts'
import { inKeys, typedValues } from '#db/typed-values.ts'
import { type Addition, deleteRows, foldSums, type SumTable } from '../fold-sums.ts'
import { readFinalTimes } from '../positions.ts'
import { LIST_COLUMNS, type ListedEvent, toListed } from './list-events.ts'
import {
  addSums,
  type Contribution,
  NOTHING,
  readContribution,
  readSums,
  type Sums,
  TOTAL,
  writeSums,
} from './sums.ts'

/** Sums commute: a negated contribution is its exact inverse. */
export async function foldEvents(
  connection: Connection,
  into: FoldedInto,
  contributions: Iterable<Contribution>,
): Promise<void> {
  const list = [...contributions]
  const accounts: AccountDeltas = new Map()
  if (into.byAccount) for (const each of list) addToAccounts(accounts, each)
  await allEnded([
    foldSums(connection, EVENT_BUCKETS, bucketsOf(into.dataset, list)),
    foldAccounts(connection, into.dataset, accounts),
  ])
}

export interface FoldedInto {
  readonly dataset: string
  readonly byAccount: boolean
}

const EVENT_BUCKETS: SumTable = {
  table: 'event_buckets',
  key: {
    dataset: 'text',
    token: 'text',
    chain_id: 'bigint',
    grain: 'text',
    bucket_unix: 'bigint',
  },
  sums: { amount: 'text', usd: 'text', events: 'bigint', priced: 'bigint' },
}

function* bucketsOf(dataset: string, contributions: readonly Contribution[]): Iterable<Addition> {
  for (const { token, chainId, timestamp, sums } of contributions) {
    const added = [sums.amount, sums.usd, BigInt(sums.events), BigInt(sums.priced)]
    yield { key: [dataset, token, chainId, 'hour', startOfHour(timestamp)], sums: added }
    yield { key: [dataset, token, chainId, 'day', startOfDay(timestamp)], sums: added }
    yield { key: [dataset, token, chainId, 'total', TOTAL], sums: added }
  }
}

interface AccountDelta {
  readonly token: string
  readonly account: string
  sums: Sums
  firstUnix: number
  lastUnix: number
}

type AccountDeltas = Map<string, AccountDelta>

function addToAccounts(deltas: AccountDeltas, each: Contribution): void {
  const { token, account, sums, timestamp } = each
  if (account === null) return
  const key = `${token}|${account}`
  const delta = deltas.get(key)
  if (delta === undefined)
    deltas.set(key, { token, account, sums, firstUnix: timestamp, lastUnix: timestamp })
  else {
    delta.sums = addSums(delta.sums, sums)
    delta.firstUnix = Math.min(delta.firstUnix, timestamp)
    delta.lastUnix = Math.max(delta.lastUnix, timestamp)
  }
}

async function foldAccounts(
  connection: Connection,
  dataset: string,
  deltas: AccountDeltas,
): Promise<void> {
  if (deltas.size === 0) return
  const byAccount = Map.groupBy(deltas.values(), ({ account }) => account)
  const tokens = await tokensOf(connection, dataset, deltas)
  const accountsAtOnce = Math.max(1, Math.floor(ROWS_PER_STATEMENT / tokens.length))
  // Rows in index order.
  const parts = chunks([...byAccount].sort(byName), accountsAtOnce)
  // They share no account.
  const changes = await allEnded(
    parts.map((part) => foldAccountRows(connection, { dataset, tokens }, new Map(part))),
  )
  const change = changes.reduce((sum, each) => sum + each, 0)
  await foldSums(connection, ACCOUNT_COUNTS, [{ key: [dataset], sums: [BigInt(change)] }])
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : Number(a > b)
}

/** All tokens whose rows show whether an account is new or gone; a revaluation changes neither. */
async function tokensOf(
  connection: Connection,
  dataset: string,
  deltas: AccountDeltas,
): Promise<readonly string[]> {
  const own = new Set([...deltas.values()].map(({ token }) => token))
  const isCounted = [...deltas.values()].some(({ sums }) => sums.events !== 0)
  if (!isCounted) return [...own]
  const found = await connection.run(sql`
    select distinct token from event_buckets
    where dataset = ${dataset} and grain = 'total' and bucket_unix = ${TOTAL}`)
  // This change may add or remove some.
  return [...own.union(new Set(found.map((row) => column.text(row, 'token'))))].sort()
}

async function foldAccountRows(
  connection: Connection,
  { dataset, tokens }: { readonly dataset: string; readonly tokens: readonly string[] },
  accounts: ReadonlyMap<string, readonly AccountDelta[]>,
): Promise<number> {
  const keys = tokens.flatMap((token) => [...accounts.keys()].map((account) => [token, account]))
  const stored = await connection.run(sql`
    select token, account, amount, usd, events, priced, first_unix, last_unix
    from event_account_sums
    where dataset = ${dataset} and ${inKeys({ token: 'text', account: 'text' }, keys)}`)
  const before = new Map(stored.map((row) => [`${row.token}|${row.account}`, row]))
  const kept: (readonly (string | number)[])[] = []
  const emptied: (readonly string[])[] = []
  let change = 0
  for (const [account, deltas] of accounts) {
    const held = tokens.filter((token) => before.has(`${token}|${account}`)).length
    let holds = held
    for (const delta of deltas) {
      const row = before.get(`${delta.token}|${account}`)
      const sums = addSums(row === undefined ? NOTHING : readSums(row), delta.sums)
      if (sums.events > 0) {
        const times = await timesOf(connection, dataset, delta, row)
        kept.push([dataset, delta.token, account, ...writeSums(sums), ...times])
        if (row === undefined) holds += 1
      } else if (row !== undefined) {
        emptied.push([delta.token, account])
        holds -= 1
      }
    }
    change += Number(holds > 0) - Number(held > 0)
  }
  await store(connection, dataset, kept, emptied)
  return change
}

/** Reads first and last time from the events after a revert: a minimum has no inverse. */
async function timesOf(
  connection: Connection,
  dataset: string,
  delta: AccountDelta,
  row: Row | undefined,
): Promise<readonly [number, number]> {
  if (delta.sums.events >= 0) {
    if (row === undefined) return [delta.firstUnix, delta.lastUnix]
    const first = column.integer(row, 'first_unix')
    const last = column.integer(row, 'last_unix')
    return delta.sums.events === 0
      ? [first, last]
      : [Math.min(first, delta.firstUnix), Math.max(last, delta.lastUnix)]
  }
  const [found] = await connection.run(sql`
    select min(timestamp_unix) as first_unix, max(timestamp_unix) as last_unix from events
    where dataset = ${dataset} and account = ${delta.account} and counted = 1
      and token = ${delta.token}`)
  return found === undefined
    ? [delta.firstUnix, delta.lastUnix]
    : [column.integer(found, 'first_unix'), column.integer(found, 'last_unix')]
}

const ACCOUNTS_KEY = { dataset: 'text', token: 'text', account: 'text' } as const

const ACCOUNT_SUMS: BulkInsert = {
  table: 'event_account_sums',
  columns: {
    ...ACCOUNTS_KEY,
    amount: 'text',
    usd: 'text',
    events: 'bigint',
    priced: 'bigint',
    first_unix: 'bigint',
    last_unix: 'bigint',
  },
  conflict: `on conflict (dataset, token, account) do update set
    amount = excluded.amount, usd = excluded.usd, events = excluded.events,
    priced = excluded.priced, first_unix = excluded.first_unix, last_unix = excluded.last_unix`,
}

async function store(
  connection: Connection,
  dataset: string,
  kept: readonly (readonly (string | number)[])[],
  emptied: readonly (readonly string[])[],
): Promise<void> {
  await connection.insert(ACCOUNT_SUMS, kept)
  const gone = emptied.map((key) => [dataset, ...key])
  await deleteRows(connection, 'event_account_sums', ACCOUNTS_KEY, gone)
}

const ACCOUNT_COUNTS: SumTable = {
  table: 'event_account_counts',
  key: { dataset: 'text' },
  sums: { accounts: 'bigint' },
}

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

type DatedAmount = Pick<ListedEvent, 'token' | 'amount' | 'timestamp' | 'chainId' | 'blockNumber'>

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
    const dated = entries.filter(([, { timestamp }]) => timestamp <= untilUnix)
    if (dated.length === 0) return
    const moments = dated.map(([, { timestamp, ...each }]) => ({ ...each, unix: timestamp }))
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
  const values = await valuesOf(change, events.map(toListed))
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
