import type { Connection, Engine, Migration } from './engine.ts'
import type { Row, Sql } from './sql.ts'
import type { ColumnType } from './typed-values.ts'

/** What else the engines do differently, besides how they open, commit and insert. */
export interface Dialect {
  /** Selects the columns of type text, as `place` and `name`. */
  readonly textColumns: Sql
  /** Whether a text contains plain characters and classes such as `[0-9a-f]`. */
  contains(text: Sql, pattern: string): Sql
  isReadOnly(engine: Pick<Engine, 'read'>): Promise<boolean>
  /** Returns tables, constraints, indexes and triggers, as `name` and `text`. */
  schemaParts(connection: Connection): Promise<readonly Row[]>
  /** Returns the parts of a newly migrated store. Runs within `inScratch` and leaves nothing. */
  freshParts(connection: Connection, migrations: readonly Migration[]): Promise<readonly Row[]>
  /** A transaction in which `freshParts` may run. */
  inScratch<T>(engine: Engine, work: (connection: Connection) => Promise<T>): Promise<T>
  /** Streams the rows of a table in bounded memory. */
  streamTable(connection: Connection, table: StreamedTable): AsyncIterable<Row>
  /** Config that disable all guards; absent where there are none. */
  guardsOff?(connection: Connection): Promise<readonly string[]>
}

/** Rows of a page of `streamTable`. */
export const PAGE_ROWS = 5_000

export interface StreamedTable {
  readonly table: string
  readonly key: Readonly<Record<string, ColumnType>>
  readonly where?: Sql
}
