import { PAGE_ROWS } from '#store/dialect.ts'
import type { Migration } from '#store/engine.ts'
import { empty, join, plain, type SqlValue, sql } from '#store/sql.ts'
import { buildSchema, PARTS } from '#store/sqlite/built-schema.ts'
import type { Dialect, StreamedTable } from './dialect.ts'
import type { Connection, Engine } from './engine.ts'
import { postgresDialect } from './postgres/postgres-dialect.ts'
import type { Row } from './sql.ts'

export function dialectOf({ dialect }: Pick<Engine, 'dialect'>): Dialect {
  return dialect === 'sqlite' ? sqliteDialect : postgresDialect
}

export interface StoreState {
  readonly connection: Connection
  readonly dialect: Engine['dialect']
}

/** Yields rows by key, texts in byte order, one page in memory. Call inside a snapshot only. */
export function streamTable(state: StoreState, table: StreamedTable): AsyncIterable<Row> {
  return dialectOf(state).streamTable(state.connection, table)
}

export const sqliteDialect: Dialect = {
  textColumns: sql`
    select tables.name as place, columns.name as name
    from sqlite_master as tables join pragma_table_info(tables.name) as columns
    where tables.type = 'table' and lower(columns.type) = 'text' order by 1, 2`,
  contains: (text, pattern) => sql`${text} glob ${`*${pattern}*`}`,
  isReadOnly: async () => false,
  schemaParts,
  freshParts,
  inScratch: (engine, work) => engine.snapshot(work),
  streamTable: streamByKey,
}

function schemaParts(connection: Connection): Promise<readonly Row[]> {
  return connection.run(plain(PARTS))
}

async function freshParts(
  _: Connection,
  migrations: readonly Migration[],
): Promise<readonly Row[]> {
  return buildSchema(migrations).parts
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
