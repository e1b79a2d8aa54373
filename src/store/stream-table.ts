import type { StreamedTable } from './dialect.ts'
import { dialectOf } from './dialects.ts'
import type { Connection, Engine, Row } from './engine.ts'

export interface StoreState {
  readonly connection: Connection
  readonly dialect: Engine['dialect']
}

/** Yields rows by key, texts in byte order, one page in memory. Call inside a snapshot only. */
export function streamTable(state: StoreState, table: StreamedTable): AsyncIterable<Row> {
  return dialectOf(state).streamTable(state.connection, table)
}
