import type { Dialect, StreamedTable } from './dialect.ts'
import type { Connection, Engine } from './engine.ts'
import { postgresDialect } from './postgres/postgres-dialect.ts'
import type { Row } from './sql.ts'
import { sqliteDialect } from './sqlite/sqlite-dialect.ts'

const dialects: Readonly<Record<Engine['dialect'], Dialect>> = {
  sqlite: sqliteDialect,
  postgres: postgresDialect,
}

export function dialectOf({ dialect }: Pick<Engine, 'dialect'>): Dialect {
  return dialects[dialect]
}

export interface StoreState {
  readonly connection: Connection
  readonly dialect: Engine['dialect']
}

/** Yields rows by key, texts in byte order, one page in memory. Call inside a snapshot only. */
export function streamTable(state: StoreState, table: StreamedTable): AsyncIterable<Row> {
  return dialectOf(state).streamTable(state.connection, table)
}
