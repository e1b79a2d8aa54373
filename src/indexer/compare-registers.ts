import type { Connection, Engine, Row } from '#store/engine.ts'
import { type Sql, sql } from '#store/sql.ts'
import type { ColumnType } from '#store/typed-values.ts'

/** The first place where two registers differ. */
export interface RegisterDifference {
  readonly table: string
  /** The row's key as `column=value`. */
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
  log_index: 'bigint',
} as const
const logKey = { chain_id: 'bigint', block_number: 'bigint', log_index: 'bigint' } as const
const bucketKey = {
  token: 'text',
  chain_id: 'bigint',
  grain: 'text',
  bucket_unix: 'bigint',
} as const

/** Every table that holds figures, with its key; what only the running indexer needs is left out. */
const TABLES: Readonly<Record<string, Key>> = {
  events: eventKey,
  event_buckets: { dataset: 'text', ...bucketKey },
  event_accounts: { dataset: 'text', token: 'text', account: 'text' },
  event_account_counts: { dataset: 'text' },
  balances: { token: 'text', address: 'text', chain_id: 'bigint' },
  balance_deltas: { chain_id: 'bigint', block_number: 'bigint', token: 'text', address: 'text' },
  supply_buckets: bucketKey,
  holder_days: { token: 'text', address: 'text', chain_id: 'bigint', day_unix: 'bigint' },
  holder_buckets: { token: 'text', grain: 'text', bucket_unix: 'bigint' },
  price_points: { symbol: 'text', block_number: 'bigint' },
  price_days: { symbol: 'text', day_unix: 'bigint' },
  deposits: logKey,
  anomalies: { ...logKey, dataset: 'text' },
}

/** A register as one state, and the engine it is on. */
export interface ComparedRegister {
  readonly connection: Connection
  readonly dialect: Engine['dialect']
}

/** Rows held in memory at once, of each side. */
const PAGE_ROWS = 5_000

/** Compares two registers row by row; undefined when every figure is the same. */
export async function compareRegisters(
  stored: ComparedRegister,
  recomputed: ComparedRegister,
  onTable: (table: string, rows: number) => void = () => undefined,
): Promise<RegisterDifference | undefined> {
  for (const [table, key] of Object.entries(TABLES)) {
    let rows = 0
    for (let offset = 0; ; offset += PAGE_ROWS) {
      const place = { table, key, offset }
      const [a, b] = await Promise.all([readPage(stored, place), readPage(recomputed, place)])
      const difference = comparePages(place, a, b)
      if (difference !== undefined) return difference
      rows += a.length
      if (a.length < PAGE_ROWS) break
    }
    onTable(table, rows)
  }
  return undefined
}

interface Place {
  readonly table: string
  readonly key: Key
  readonly offset: number
}

function readPage(register: ComparedRegister, place: Place): Promise<readonly Row[]> {
  const order = Object.entries(place.key).map(([name, type]) =>
    // SQLite orders text by its bytes; PostgreSQL would follow its locale.
    type === 'text' && register.dialect === 'postgres' ? `${name} collate "C"` : name,
  )
  const from: Sql = {
    kind: 'sql',
    parts: [`${place.table} order by ${order.join(', ')}`],
    values: [],
  }
  return register.connection.run(
    sql`select * from ${from} limit ${PAGE_ROWS} offset ${place.offset}`,
  )
}

function comparePages(
  place: Place,
  stored: readonly Row[],
  recomputed: readonly Row[],
): RegisterDifference | undefined {
  for (let index = 0; index < Math.max(stored.length, recomputed.length); index += 1) {
    const a = stored[index]
    const b = recomputed[index]
    const known = a ?? b ?? {}
    for (const column of Object.keys(known)) {
      if (a?.[column] === b?.[column]) continue
      const key = Object.keys(place.key)
        .map((name) => `${name}=${known[name]}`)
        .join(' ')
      return { table: place.table, key, column, stored: a?.[column], recomputed: b?.[column] }
    }
  }
  return undefined
}
