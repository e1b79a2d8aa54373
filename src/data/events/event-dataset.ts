import { allEnded, chunks } from '#base/async.ts'
import { type Log, toPlace } from '#base/chain.ts'
import { type MicroUsd, valueAt } from '#base/money.ts'
import { startOfDay, startOfHour } from '#base/time.ts'
import type { Position } from '#chain/chain-source.ts'
import { eventKinds } from '#data/kinds.ts'
import type { BulkInsert, Connection } from '#db/engine.ts'
import {
  column,
  inKeys,
  inNames,
  ROWS_PER_STATEMENT,
  type Row,
  type SqlValue,
  sql,
  toStored,
  typedValues,
} from '#db/sql.ts'
import { DecodeError, type EventArguments } from '#ecosystem/event-arguments.ts'
import type { EventSource, MappingCode } from '#ecosystem/event-source.ts'
import { runCode } from '#ecosystem/mapping-code.ts'
import type { EventValue, ModuleEvent } from '#ecosystem/module-types.ts'
import type { Change, Dataset } from '#index/dataset.ts'
import {
  fitting,
  keyOfLog,
  keyOfSource,
  makeEventReader,
  readArguments,
  toSelectors,
} from '#index/decode-event.ts'
import {
  type EventFact,
  LIST_COLUMNS,
  type ListedEvent,
  type PriceBook,
  toListed,
} from '#index/event.ts'
import type { Changes } from '#index/feed.ts'
import { readFinalTimes } from '#index/status.ts'
import { type Addition, foldSums, type SumTable, TOTAL, toSums } from './sums.ts'

export function makeEventDataset(input: {
  readonly name: string
  readonly sources: readonly EventSource[]
}): Dataset<EventFact> {
  const { name, sources } = input
  const readRows = makeRowReader(sources)
  const waiting = waitingKeys(sources)
  return {
    name,
    selectors: toSelectors(sources),
    decode(log, others) {
      const rows = readRows(log, others)
      return (
        rows
          // One event, even if two mappings match.
          .filter(({ source }) => source === rows[0]?.source)
          .map(({ source, args, row }) => ({ ...source.read(args), log: toLogPlace(log, row) }))
          // Anyone can emit an empty transfer in another's name.
          .filter((fact) => fact.amount > 0n)
      )
    },
    isWaiting: (log) => waiting.size > 0 && waiting.has(keyOfLog(log)),
    apply: (change, facts) => storeEvents(change, name, facts),
    revert: (change, ancestor) => revertEvents(change, name, ancestor),
  }
}

/** Many thousands wait to be stored. */
export function toLogPlace(log: Log, row = 0): EventFact['log'] {
  const { chainId, blockNumber, blockHash, txHash, txIndex, logIndex, timestamp } = log
  const place = { chainId, blockNumber, blockHash, txHash, txIndex, logIndex, timestamp }
  return row === 0 ? place : { ...place, row }
}

export async function storeEvents(
  change: Change,
  dataset: string,
  facts: readonly EventFact[],
): Promise<void> {
  const values = await readValues(
    change,
    facts.map(({ token, amount, log }) => ({ ...log, token, amount })),
  )
  change.changes?.add(dataset, facts, values)
  await storeValued(change.connection, { dataset, facts, values })
}

export async function storeValued(
  connection: Connection,
  input: {
    readonly dataset: string
    readonly facts: readonly EventFact[]
    readonly values: readonly (MicroUsd | null | undefined)[]
  },
): Promise<void> {
  const { dataset, facts, values } = input
  const rows = facts.map((fact, index) => toRow(dataset, fact, values[index]))
  const counted = facts.flatMap((fact, index) =>
    fact.counted ? [{ ...fact, ...fact.log, usd: values[index] ?? null }] : [],
  )
  await connection.insert(EVENTS, rows)
  await foldEvents(connection, dataset, counted, 1n)
}

const EVENTS: BulkInsert = {
  table: 'events',
  columns: {
    dataset: 'text',
    chain_id: 'bigint',
    block_number: 'bigint',
    place: 'bigint',
    block_hash: 'text',
    tx_hash: 'text',
    timestamp_unix: 'bigint',
    kind: 'text',
    token: 'text',
    account: 'text',
    amount: 'text',
    detail: 'text',
    counted: 'bigint',
    valued: 'bigint',
    usd: 'text',
  },
}

function toRow(
  dataset: string,
  fact: EventFact,
  value: MicroUsd | null | undefined,
): readonly SqlValue[] {
  const { log } = fact
  return [
    dataset,
    log.chainId,
    log.blockNumber,
    toPlace(log),
    log.blockHash,
    log.txHash,
    log.timestamp,
    fact.kind,
    fact.token,
    fact.account,
    toStored(fact.amount),
    fact.detail,
    Number(fact.counted),
    Number(value !== undefined),
    value == null ? null : toStored(value),
  ]
}

export async function revertEvents(
  change: Change,
  dataset: string,
  ancestor: Position,
): Promise<void> {
  const { connection, chainId } = change
  const removed = await connection.run(sql`
    delete from events
    where dataset = ${dataset} and chain_id = ${chainId} and block_number > ${ancestor.number}
    returning ${LIST_COLUMNS}, counted`)
  change.changes?.remove(dataset, removed)
  const counted = removed.filter((row) => column.flag(row, 'counted')).map(toListed)
  await foldEvents(connection, dataset, counted, -1n)
}

/** A row that a mapping makes of a log. */
interface MappedRow {
  readonly source: EventSource
  readonly args: EventArguments
  /** Its number among the rows of the log, where a module makes them. */
  readonly row?: number
}

/** Reads a log; `others` are those of its transaction. Throws DecodeError. */
type ReadRows = (log: Log, others: readonly Log[]) => readonly MappedRow[]

export function makeRowReader(sources: readonly EventSource[]): ReadRows {
  const readEvent = makeEventReader(sources)
  return (log, others) =>
    readEvent(log).flatMap(({ source, args }) => {
      const { code } = source
      if (code === undefined) return [{ source, args }]
      const event = { ...toModuleEvent(log, args), ...logsBeside(code, others) }
      return runCode(code, event).map((own, row) => ({ source, args: { ...args, ...own }, row }))
    })
}

/** Names the logs that wait for the others of their transaction. */
function waitingKeys(sources: readonly EventSource[]): ReadonlySet<string> {
  return new Set(
    sources.flatMap((source) => {
      const companions = source.code?.companions ?? []
      return companions.length === 0 ? [] : [source, ...companions].map(keyOfSource)
    }),
  )
}

function toModuleEvent(log: Log, args: EventArguments): ModuleEvent {
  return {
    args: toValue(args) as ModuleEvent['args'],
    block: { number: log.blockNumber, time: log.timestamp, hash: log.blockHash },
    transactionHash: log.txHash,
    emitter: log.address,
    logIndex: log.logIndex,
  }
}

/** Small integers are decoded as numbers. */
function toValue(value: unknown): EventValue {
  if (typeof value === 'number') return BigInt(value)
  if (Array.isArray(value)) return value.map(toValue)
  if (typeof value !== 'object' || value === null) return value as EventValue
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, toValue(each)]))
}

/** The logs that the mapping lists in `with`, in their order. */
function logsBeside({ companions }: MappingCode, logs: readonly Log[]): Pick<ModuleEvent, 'logs'> {
  if (companions.length === 0) return {}
  const byKey = Map.groupBy(companions, keyOfSource)
  const ordered = logs.toSorted((a, b) => toPlace(a) - toPlace(b))
  return {
    logs: ordered.flatMap((log) =>
      nameLog(fitting(byKey.get(keyOfLog(log)) ?? [], log).at(-1), log),
    ),
  }
}

/** Skips logs of the same topic whose shape does not fit the event. */
function nameLog(companion: MappingCode['companions'][number] | undefined, log: Log) {
  if (companion === undefined) return []
  try {
    const args = readArguments(companion, log)
    return args === undefined ? [] : [{ ...toModuleEvent(log, args), name: companion.event.name }]
  } catch (error) {
    if (error instanceof DecodeError) return []
    throw error
  }
}

/** Datasets whose events are summed by account too. */
const BY_ACCOUNT = new Set<string>(
  eventKinds.flatMap(({ dataset, byAccount }) => (byAccount ? [dataset] : [])),
)

type FoldedEvent = Pick<
  ListedEvent,
  'token' | 'account' | 'chainId' | 'timestamp' | 'amount' | 'usd'
>

/** Sums commute: with the sign -1 it is its exact inverse. The events, oldest first, are stored or deleted before. */
export async function foldEvents(
  connection: Connection,
  dataset: string,
  events: readonly FoldedEvent[],
  sign: 1n | -1n,
): Promise<void> {
  await foldSums(connection, EVENT_BUCKETS, toBuckets(dataset, events, sign))
  if (BY_ACCOUNT.has(dataset)) await foldAccounts(connection, dataset, events, sign)
}

const SUMS = { amount: 'text', usd: 'text', events: 'bigint', priced: 'bigint' } as const

const EVENT_BUCKETS: SumTable = {
  table: 'event_buckets',
  key: {
    dataset: 'text',
    token: 'text',
    chain_id: 'bigint',
    grain: 'text',
    bucket_unix: 'bigint',
  },
  sums: SUMS,
}

function* toBuckets(
  dataset: string,
  events: readonly FoldedEvent[],
  sign: 1n | -1n,
): Iterable<Addition> {
  for (const event of events) {
    const { token, chainId, timestamp } = event
    const sums = toAdditions(event, sign)
    yield { key: [dataset, token, chainId, 'hour', startOfHour(timestamp)], sums }
    yield { key: [dataset, token, chainId, 'day', startOfDay(timestamp)], sums }
    yield { key: [dataset, token, chainId, 'total', TOTAL], sums }
  }
}

function toAdditions(event: FoldedEvent, sign: 1n | -1n): readonly bigint[] {
  const { amount, usd, events, priced } = toSums(event)
  return [amount * sign, usd * sign, BigInt(events) * sign, BigInt(priced) * sign]
}

const ACCOUNT_SUMS: SumTable = {
  table: 'event_account_sums',
  key: { dataset: 'text', account: 'text', token: 'text' },
  sums: SUMS,
}

const ACCOUNT_COUNTS: SumTable = {
  table: 'event_account_counts',
  key: { dataset: 'text' },
  sums: { accounts: 'bigint' },
}

async function foldAccounts(
  connection: Connection,
  dataset: string,
  events: readonly FoldedEvent[],
  sign: 1n | -1n,
): Promise<void> {
  const byAccount = events.flatMap((event) =>
    event.account === null ? [] : [{ key: [dataset, event.account, event.token], event }],
  )
  const firsts = new Map(byAccount.toReversed().map(({ key, event }) => [key.join('|'), event]))
  const lasts = new Map(byAccount.map((each) => [each.key.join('|'), each]))
  const spans = [...lasts].map(([id, { key, event }]) => {
    return [...key, firsts.get(id)?.timestamp ?? event.timestamp, event.timestamp]
  })
  const accounts = [...new Set(byAccount.map(({ event }) => event.account ?? ''))].sort()
  const before = await countAccounts(connection, dataset, accounts)
  const additions = byAccount.map(({ key, event }) => ({ key, sums: toAdditions(event, sign) }))
  await foldSums(connection, ACCOUNT_SUMS, additions)
  for (const part of chunks(spans, ROWS_PER_STATEMENT))
    await (sign === 1n ? widenSpans(connection, part) : readSpans(connection, part))
  const after = await countAccounts(connection, dataset, accounts)
  await foldSums(connection, ACCOUNT_COUNTS, [{ key: [dataset], sums: [after - before] }])
}

/** Keyed as `ACCOUNT_SUMS`, with the times of the first and the last event, which are no sums. */
type Span = readonly (string | number)[]

async function widenSpans(connection: Connection, spans: readonly Span[]): Promise<void> {
  const types = ['text', 'text', 'text', 'bigint', 'bigint'] as const
  await connection.run(sql`
    update event_account_sums set
      first_unix = case when first_unix < given.column4 then first_unix else given.column4 end,
      last_unix = case when last_unix > given.column5 then last_unix else given.column5 end
    from (${typedValues(types, spans)}) as given
    where dataset = given.column1 and account = given.column2 and token = given.column3`)
}

/** Reads them again, as some of the events are gone. */
async function readSpans(connection: Connection, spans: readonly Span[]): Promise<void> {
  const keys = spans.map((span) => span.slice(0, 3))
  await connection.run(sql`
    update event_account_sums set first_unix = times.first_unix, last_unix = times.last_unix
    from (
      select dataset, account, token, min(timestamp_unix) as first_unix, max(timestamp_unix) as last_unix
      from events where counted = 1 and ${inKeys(ACCOUNT_SUMS.key, keys)}
      group by dataset, account, token
    ) as times
    where event_account_sums.dataset = times.dataset and event_account_sums.account = times.account
      and event_account_sums.token = times.token`)
}

async function countAccounts(
  connection: Connection,
  dataset: string,
  accounts: readonly string[],
): Promise<bigint> {
  let count = 0
  for (const part of chunks(accounts, ROWS_PER_STATEMENT)) {
    const [row = {}] = await connection.run(sql`
      select count(distinct account) as accounts from event_account_sums
      where dataset = ${dataset} and account ${inNames(part)}`)
    count += column.integer(row, 'accounts')
  }
  return BigInt(count)
}

interface Valuing {
  readonly connection: Connection
  readonly chainId: number
  readonly prices: PriceBook
}

type DatedAmount = Pick<ListedEvent, 'token' | 'amount' | 'timestamp' | 'chainId' | 'blockNumber'>

/** No pool and no feed is worth as much; beyond it, a figure is taken for unknown. */
const VALUE_MAX = 2n ** 256n - 1n

const EVENTS_MAX = 20_000

/**
 * Values events of the chain, once for all: the blocks before them are stored. Null before a token's first price or above
 * the most; undefined where another chain moves the price and is not final up to the event.
 */
export async function readValues(
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

/** Values events that waited for the chain of a price to be final up to them. */
export async function valueLate({ connection, prices, changes }: Change): Promise<void> {
  const finalTimes = await readFinalTimes(connection)
  for (const token of prices.symbols)
    for (const chainId of finalTimes.keys()) {
      const untilUnix = knownUntil(prices.chainIds(token), chainId, finalTimes)
      if (!Number.isFinite(untilUnix)) continue
      for (let more = true; more; ) {
        const events = await readPending(connection, { token, chainId, untilUnix })
        await valuePending({ connection, prices, chainId }, events, changes)
        more = events.length === EVENTS_MAX
      }
    }
}

/** The index gives the order, or PostgreSQL may scan the table on stale statistics. */
function readPending(
  connection: Connection,
  {
    token,
    chainId,
    untilUnix,
  }: { readonly token: string; readonly chainId: number; readonly untilUnix: number },
): Promise<readonly Row[]> {
  return connection.run(sql`
    select dataset, counted, ${LIST_COLUMNS} from events
    where token = ${token} and chain_id = ${chainId} and valued = 0 and timestamp_unix <= ${untilUnix}
    order by timestamp_unix limit ${EVENTS_MAX}`)
}

async function valuePending(
  change: Valuing,
  events: readonly Row[],
  changes: Changes | undefined,
): Promise<void> {
  if (events.length === 0) return
  const values = await readValues(change, events.map(toListed))
  const valued = events.map((row, index) => ({ row, usd: values[index] ?? null }))
  await setValues(change.connection, valued)
  const known = valued.flatMap(({ row, usd }) => (usd === null ? [] : [{ row, usd }]))
  for (const { row, usd } of known) changes?.value(row, usd)
  const counted = known.filter(({ row }) => column.flag(row, 'counted'))
  for (const [dataset, group] of Map.groupBy(counted, ({ row }) => column.text(row, 'dataset'))) {
    const before = group.map(({ row }) => toListed(row))
    const after = group.map(({ row, usd }) => ({ ...toListed(row), usd }))
    await foldEvents(change.connection, dataset, before, -1n)
    await foldEvents(change.connection, dataset, after, 1n)
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
