import { DAY_SECONDS } from '#base/time.ts'
import { type ColumnType, type Row, type Sql, sql } from '#db/sql.ts'
import { type StoreState, type StreamedTable, streamTable } from '#db/stream-table.ts'

export interface RegisterDifference {
  readonly table: string
  readonly key: string
  readonly column: string
  readonly stored: unknown
  readonly recomputed: unknown
}

type Key = Readonly<Record<string, ColumnType>>

const eventKey = {
  dataset: 'text',
  chain_id: 'bigint',
  block_number: 'bigint',
  place: 'bigint',
} as const
const logKey = { chain_id: 'bigint', block_number: 'bigint', place: 'bigint' } as const
const bucketKey = {
  token: 'text',
  chain_id: 'bigint',
  grain: 'text',
  bucket_unix: 'bigint',
} as const

/** Tables that two registers share; those of the running indexer are left out. */
const TABLES: Readonly<Record<string, Key>> = {
  events: eventKey,
  event_buckets: { dataset: 'text', ...bucketKey },
  event_account_sums: { dataset: 'text', account: 'text', token: 'text' },
  event_account_counts: { dataset: 'text' },
  balances: { token: 'text', address: 'text', chain_id: 'bigint' },
  holder_totals: { token: 'text', address: 'text' },
  balance_deltas: { chain_id: 'bigint', block_number: 'bigint', token: 'text', address: 'text' },
  balance_hours: { token: 'text', address: 'text', chain_id: 'bigint', hour_unix: 'bigint' },
  supply_buckets: bucketKey,
  holder_days: { token: 'text', address: 'text', chain_id: 'bigint', day_unix: 'bigint' },
  holder_buckets: { token: 'text', grain: 'text', bucket_unix: 'bigint' },
  price_points: { symbol: 'text', chain_id: 'bigint', block_number: 'bigint' },
  price_hours: { symbol: 'text', hour_unix: 'bigint' },
  anomalies: { ...logKey, dataset: 'text' },
}

/** An older index keeps more hours: only those that a window may need count. */
const WINDOWED_HOURS: Readonly<Record<string, Sql>> = {
  balance_hours: sql`hour_unix >= (
    select timestamp_unix - ${31 * DAY_SECONDS} from positions
    where positions.chain_id = balance_hours.chain_id)`,
  price_hours: sql`hour_unix >= (
    select max(timestamp_unix) - ${90 * DAY_SECONDS} from positions)`,
}

const ROWS_PER_WORD = 5_000

export async function compareRegisters(
  stored: StoreState,
  recomputed: StoreState,
  onRows: (progress: {
    readonly table: string
    readonly rows: number
    readonly isDone: boolean
  }) => void = () => undefined,
): Promise<RegisterDifference | undefined> {
  for (const [name, key] of Object.entries(TABLES)) {
    const where = WINDOWED_HOURS[name]
    const table = { table: name, key, ...(where && { where }) }
    let rows = 0
    for await (const [a, b] of pairs(streamTable(stored, table), streamTable(recomputed, table))) {
      const difference = compareRows(table, a, b)
      if (difference !== undefined) return difference
      rows += 1
      if (rows % ROWS_PER_WORD === 0) onRows({ table: name, rows, isDone: false })
    }
    onRows({ table: name, rows, isDone: true })
  }
  return undefined
}

async function* pairs(
  a: AsyncIterable<Row>,
  b: AsyncIterable<Row>,
): AsyncIterable<readonly [Row | undefined, Row | undefined]> {
  const ofA = a[Symbol.asyncIterator]()
  const ofB = b[Symbol.asyncIterator]()
  try {
    for (;;) {
      const [inA, inB] = [await ofA.next(), await ofB.next()]
      if (inA.done === true && inB.done === true) return
      yield [inA.done === true ? undefined : inA.value, inB.done === true ? undefined : inB.value]
    }
  } finally {
    await Promise.all([ofA.return?.(), ofB.return?.()])
  }
}

function compareRows(
  { table, key }: StreamedTable,
  stored: Row | undefined,
  recomputed: Row | undefined,
): RegisterDifference | undefined {
  const known = first(key, stored, recomputed)
  const isStored = known === stored || sameKey(key, known, stored)
  const isRecomputed = known === recomputed || sameKey(key, known, recomputed)
  for (const column of Object.keys(known)) {
    const a = isStored ? stored?.[column] : undefined
    const b = isRecomputed ? recomputed?.[column] : undefined
    if (a === b) continue
    const name = Object.keys(key).map((each) => `${each}=${known[each]}`)
    return { table, key: name.join(' '), column, stored: a, recomputed: b }
  }
  return undefined
}

/** Reports the lower key: the other register lacks that row. */
function first(key: Key, a: Row | undefined, b: Row | undefined): Row {
  if (a === undefined || b === undefined) return a ?? b ?? {}
  for (const name of Object.keys(key)) {
    const [ofA, ofB] = [a[name], b[name]]
    if (ofA === ofB) continue
    if (typeof ofA === 'number' && typeof ofB === 'number') return ofA < ofB ? a : b
    return String(ofA) < String(ofB) ? a : b
  }
  return a
}

function sameKey(key: Key, a: Row, b: Row | undefined): boolean {
  return b !== undefined && Object.keys(key).every((name) => a[name] === b[name])
}
