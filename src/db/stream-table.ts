import type { Connection, Engine } from './engine.ts'
import {
  type ColumnType,
  empty,
  join,
  plain,
  type Row,
  type Sql,
  type SqlValue,
  sql,
} from './sql.ts'

export interface StoreState {
  readonly connection: Connection
  readonly dialect: Engine['dialect']
}

export interface StreamedTable {
  readonly table: string
  readonly key: Readonly<Record<string, ColumnType>>
  readonly where?: Sql
}

const PAGE_ROWS = 5_000

/** Yields rows by key, texts in byte order, holding one page in memory. Call inside a snapshot only. */
export function streamTable(
  { connection, dialect }: StoreState,
  table: StreamedTable,
): AsyncIterable<Row> {
  return dialect === 'sqlite' ? streamByKey(connection, table) : streamByCursor(connection, table)
}

async function* streamByKey(
  connection: Connection,
  { table, key, where }: StreamedTable,
): AsyncIterable<Row> {
  const names = Object.keys(key)
  let after: readonly SqlValue[] | undefined
  for (;;) {
    const behind =
      after === undefined ? sql`1 = 1` : sql`(${plain(names.join(', '))}) > (${join(after)})`
    const page = await connection.run(sql`
      select * from ${plain(table)} where ${behind} ${where === undefined ? empty : sql`and (${where})`}
      order by ${plain(names.join(', '))} limit ${PAGE_ROWS}`)
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_ROWS) return
    after = names.map((name) => toKey(last[name]))
  }
}

function toKey(value: unknown): SqlValue {
  if (typeof value === 'string' || typeof value === 'number') return value
  throw new TypeError(`a key is a text or a number, not ${String(value)}`)
}

let streams = 0

/** PostgreSQL's index may follow a locale, so sort once with a cursor. */
async function* streamByCursor(
  connection: Connection,
  { table, key, where }: StreamedTable,
): AsyncIterable<Row> {
  streams += 1
  const cursor = plain(`stream_${streams}`)
  const order = Object.entries(key).map(([name, type]) =>
    type === 'text' ? `${name} collate "C"` : name,
  )
  await connection.run(sql`
    declare ${cursor} no scroll cursor for select * from ${plain(table)}
    where ${where ?? sql`true`} order by ${plain(order.join(', '))}`)
  for (;;) {
    const page = await connection.run(sql`fetch ${plain(String(PAGE_ROWS))} from ${cursor}`)
    yield* page
    if (page.length < PAGE_ROWS) break
  }
  await connection.run(sql`close ${cursor}`)
}
