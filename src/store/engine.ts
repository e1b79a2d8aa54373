import type { Rows } from './packed-rows.ts'
import type { Sql } from './sql.ts'
import type { ColumnType } from './typed-values.ts'

/** One row as the engines give it. Integers are numbers, checked to be exact; the reader parses. */
export type Row = Readonly<Record<string, unknown>>

/** Runs statements inside one transaction or snapshot. */
export interface Connection {
  run(statement: Sql): Promise<readonly Row[]>
  /**
   * Inserts any number of rows in their order, the quickest way that the engine has; gives what
   * `conflict` returns.
   */
  insert(into: BulkInsert, rows: Rows): Promise<readonly Row[]>
  /** Runs a procedure over this connection, beside whoever calls where its statements run so. */
  call<Input>(procedure: Procedure<Input>, input: Input): Promise<void>
}

/**
 * Work that is made of statements and of what lies between them. It may run on another thread, so its
 * input is plain data (what `structuredClone` copies) and it knows nothing else.
 */
export interface Procedure<Input> {
  /** One of a kind in a store. */
  readonly name: string
  run(connection: Connection, input: Input): Promise<void>
}

/** Where rows go to; no two rows of one insert share a key. */
export interface BulkInsert {
  readonly table: string
  /** Names and types, in the order of the values. */
  readonly columns: Readonly<Record<string, ColumnType>>
  /** Further columns that hold the same number in every row. */
  readonly constants?: Readonly<Record<string, number>>
  /**
   * What becomes of rows that exist already, such as `on conflict (id) do nothing`, and what is
   * returned of each.
   */
  readonly conflict?: string
}

/** One store on one database engine. */
export interface Engine {
  readonly dialect: 'sqlite' | 'postgres'
  /** One statement on its own, seeing everything committed before. */
  read(statement: Sql): Promise<readonly Row[]>
  /** Several reads that see one and the same state. */
  snapshot<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /**
   * All or nothing, durable when it resolves. Writers wait for one another on rows they share.
   * `onCommitted` is told when it stands and is seen by later writes, which may be before it is durable:
   * what follows may be done, but nobody may be told. If it fails after that, it stands nonetheless.
   */
  write<T>(work: (connection: Connection) => Promise<T>, onCommitted?: () => void): Promise<T>
  /** The same without a statement timeout, for work that may take minutes, such as removing a chain. */
  writeAtLength<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Applies the migrations that are not yet applied, in order, each in a transaction of its own. */
  migrate(migrations: readonly Migration[], onMigration?: OnMigration): Promise<void>
  close(): Promise<void>
}

/** A numbered step of the schema. Released steps never change. */
export interface Migration {
  /** Unique within the store and rising. */
  readonly id: number
  readonly name: string
  /** Portable statements, or a text per engine where they differ. */
  readonly sql: string | { readonly sqlite: string; readonly postgres: string }
}

/** Called before each migration of a store in use, because large tables take minutes. */
export type OnMigration = (progress: {
  readonly migration: Migration
  readonly step: number
  readonly steps: number
}) => void

/** The database failed or cannot be reached. Callers answer 503. */
export class StoreError extends Error {
  override readonly name: string = 'StoreError'
}

/** A constraint of the schema refused a write (unique, check, foreign key). */
export class ConstraintError extends StoreError {
  override readonly name: string = 'ConstraintError'
}

/** Another transaction held a row for longer than the lock timeout; nothing of this one is stored. */
export class LockTimeoutError extends StoreError {
  override readonly name: string = 'LockTimeoutError'
}
