import assert from 'node:assert/strict'
import { allEnded, chunks } from '#base/async.ts'
import type { MicroUsd } from '#base/money.ts'
import { DAY_SECONDS, HOUR_SECONDS } from '#base/time.ts'
import type { Connection } from '#db/engine.ts'
import {
  type ColumnType,
  column,
  empty,
  inKeys,
  plain,
  ROWS_PER_STATEMENT,
  type Row,
  sql,
  toStored,
} from '#db/sql.ts'
import type { ListedEvent } from '#index/event.ts'

export interface Sums {
  readonly amount: bigint
  readonly usd: MicroUsd
  readonly events: number
  readonly priced: number
}

export const TOTAL = 0

export const NOTHING: Sums = { amount: 0n, usd: 0n, events: 0, priced: 0 }

export function addSums(a: Sums, b: Sums): Sums {
  return {
    amount: a.amount + b.amount,
    usd: a.usd + b.usd,
    events: a.events + b.events,
    priced: a.priced + b.priced,
  }
}

export function takeSums(sums: Sums, some: Sums): Sums {
  return {
    amount: sums.amount - some.amount,
    usd: sums.usd - some.usd,
    events: sums.events - some.events,
    priced: sums.priced - some.priced,
  }
}

/** What one event adds. */
export function toSums({ amount, usd }: Pick<ListedEvent, 'amount' | 'usd'>): Sums {
  return { amount, usd: usd ?? 0n, events: 1, priced: usd === null ? 0 : 1 }
}

export function readSums(row: Row): Sums {
  return {
    amount: column.bigint(row, 'amount'),
    usd: column.bigint(row, 'usd'),
    events: column.integer(row, 'events'),
    priced: column.integer(row, 'priced'),
  }
}

export interface TokenSums extends Sums {
  readonly token: string
  readonly chainId: number
}

/** Sums of the last 1, 7 and 30 days. */
export function sumWindows(
  connection: Connection,
  { dataset, asOfUnix }: { readonly dataset: string; readonly asOfUnix: number },
): Promise<readonly (readonly TokenSums[])[]> {
  const windows = [1, 7, 30].map((days) =>
    sumSince(connection, dataset, asOfUnix - days * DAY_SECONDS + 1),
  )
  return allEnded(windows)
}

/** Adds whole days, whole hours before them, and the events of the broken hour before these. */
async function sumSince(
  connection: Connection,
  dataset: string,
  startUnix: number,
): Promise<readonly TokenSums[]> {
  const firstHour = Math.ceil(startUnix / HOUR_SECONDS) * HOUR_SECONDS
  const firstDay = Math.ceil(firstHour / DAY_SECONDS) * DAY_SECONDS
  const found = await connection.run(sql`
    select token, chain_id, amount, usd, events, priced from event_buckets
    where dataset = ${dataset} and grain = 'day' and bucket_unix >= ${firstDay}
    union all
    select token, chain_id, amount, usd, events, priced from event_buckets
    where dataset = ${dataset} and grain = 'hour'
      and bucket_unix >= ${firstHour} and bucket_unix < ${firstDay}
    union all
    select token, chain_id, amount, coalesce(usd, ${toStored(0n)}), 1,
      case when usd is null then 0 else 1 end
    from events
    where dataset = ${dataset} and counted = 1
      and timestamp_unix >= ${startUnix} and timestamp_unix < ${firstHour}`)
  const sums = new Map<string, TokenSums>()
  for (const each of found.map(toTokenSums)) {
    const id = `${each.token}|${each.chainId}`
    sums.set(id, { ...each, ...addSums(sums.get(id) ?? NOTHING, each) })
  }
  return [...sums.values()]
}

/** Compares with `<=`: with `=`, SQLite would read every bucket to order them. */
export async function sumTotals(
  connection: Connection,
  dataset: string,
): Promise<readonly TokenSums[]> {
  const found = await connection.run(sql`
    select token, chain_id, amount, usd, events, priced from event_buckets
    where dataset = ${dataset} and grain = 'total' and bucket_unix <= ${TOTAL}
    order by token, chain_id`)
  return found.map(toTokenSums)
}

export function sumTotal(
  list: readonly TokenSums[],
  accept: (sums: TokenSums) => boolean = () => true,
): Sums {
  return list.filter(accept).reduce<Sums>(addSums, NOTHING)
}

/** How many events have no dollar value. */
export function countUnpriced({ events, priced }: Pick<Sums, 'events' | 'priced'>): number {
  return events - priced
}

export function toDollars(sums: Sums): bigint | null {
  return sums.events > 0 && sums.priced === 0 ? null : sums.usd
}

function toTokenSums(row: Row): TokenSums {
  return {
    token: column.text(row, 'token'),
    chainId: column.integer(row, 'chain_id'),
    ...readSums(row),
  }
}

interface EventDaysQuery {
  readonly dataset: string
  readonly token: string | undefined
  readonly fromUnix: number
  readonly chainId?: number
}

export async function readEventDays(
  connection: Connection,
  input: EventDaysQuery,
): Promise<ReadonlyMap<number, Sums>> {
  const { token, chainId } = input
  const found = await connection.run(sql`
    select bucket_unix, amount, usd, events, priced from event_buckets
    where dataset = ${input.dataset} and grain = 'day' and bucket_unix >= ${input.fromUnix}
      ${token === undefined ? empty : sql`and token = ${token}`}
      ${chainId === undefined ? empty : sql`and chain_id = ${chainId}`}`)
  const days = new Map<number, Sums>()
  for (const row of found) {
    const day = column.integer(row, 'bucket_unix')
    days.set(day, addSums(days.get(day) ?? NOTHING, readSums(row)))
  }
  return days
}

/** A table of sums. A row whose sums are all zero is deleted. */
export interface SumTable {
  readonly table: string
  readonly key: Readonly<Record<string, ColumnType>>
  /** `text` is for integers of any size and sign, `bigint` for counts. */
  readonly sums: Readonly<Record<string, ColumnType>>
}

/** What is added to one row; negative for a reorg. */
export interface Addition {
  readonly key: readonly (string | number)[]
  readonly sums: readonly bigint[]
}

export async function foldSums(
  connection: Connection,
  table: SumTable,
  additions: Iterable<Addition>,
): Promise<void> {
  const byKey = new Map<string, Addition>()
  for (const each of additions) {
    const id = each.key.join('|')
    const before = byKey.get(id)
    byKey.set(
      id,
      before === undefined ? each : { key: each.key, sums: add(before.sums, each.sums) },
    )
  }
  const moved = [...byKey.values()].filter((each) => each.sums.some((sum) => sum !== 0n))
  const parts = chunks(moved, ROWS_PER_STATEMENT)
  await allEnded(parts.map((part) => foldPart(connection, table, part)))
}

function add(a: readonly bigint[], b: readonly bigint[]): readonly bigint[] {
  return a.map((sum, place) => sum + (b[place] ?? 0n))
}

async function foldPart(
  connection: Connection,
  { table, key, sums }: SumTable,
  part: readonly Addition[],
): Promise<void> {
  const [keyNames, sumNames] = [Object.keys(key), Object.keys(sums)]
  const stored = await connection.run(sql`
    select ${plain([...keyNames, ...sumNames].join(', '))} from ${plain(table)}
    where ${inKeys(
      key,
      part.map((each) => each.key),
    )}`)
  const rows = new Map(stored.map((row) => [keyNames.map((name) => row[name]).join('|'), row]))
  const after = part.map((each) => {
    const row = rows.get(each.key.join('|'))
    const before = sumNames.map((name) => (row === undefined ? 0n : readSum(row, name, sums)))
    return { key: each.key, sums: add(before, each.sums) }
  })
  const emptied = after.filter((each) => each.sums.every((sum) => sum === 0n))
  const kept = after.filter((each) => each.sums.some((sum) => sum !== 0n))
  const writeSum = (sum: bigint, place: number) => {
    if (Object.values(sums)[place] === 'text') return toStored(sum)
    assert(sum >= 0n, `more was reverted than stored in ${table}`)
    return Number(sum)
  }
  await connection.insert(
    {
      table,
      columns: { ...key, ...sums },
      conflict: `on conflict (${keyNames.join(', ')}) do update set
        ${sumNames.map((name) => `${name} = excluded.${name}`).join(', ')}`,
    },
    kept.map((each) => [...each.key, ...each.sums.map(writeSum)]),
  )
  const gone = emptied.map((each) => each.key)
  await deleteRows(connection, table, key, gone)
}

export async function deleteRows(
  connection: Connection,
  table: string,
  key: Readonly<Record<string, ColumnType>>,
  keys: readonly (readonly (string | number)[])[],
): Promise<void> {
  for (const part of chunks(keys, ROWS_PER_STATEMENT))
    await connection.run(sql`delete from ${plain(table)} where ${inKeys(key, part)}`)
}

function readSum(row: Row, name: string, sums: SumTable['sums']): bigint {
  return sums[name] === 'text' ? column.bigint(row, name) : BigInt(column.integer(row, name))
}
