import type { Rows } from './packed-rows.ts'
import type { Sql } from './sql.ts'
import type { ColumnType } from './typed-values.ts'

/** Integers are numbers, checked to be exact; the reader parses. */
export type Row = Readonly<Record<string, unknown>>

export interface Connection {
  run(statement: Sql): Promise<readonly Row[]>
  /** Inserts any number of rows in order; returns what `conflict` returns. */
  insert(into: BulkInsert, rows: Rows): Promise<readonly Row[]>
  /** Runs a procedure, possibly on another thread. */
  call<Input>(procedure: Procedure<Input>, input: Input): Promise<void>
}

/**
 * May run on another thread, so its input is plain data (`structuredClone`) and it closes over
 * nothing.
 */
export interface Procedure<Input> {
  /** Unique in a store. */
  readonly name: string
  run(connection: Connection, input: Input): Promise<void>
}

/** No two rows of one insert share a key. */
export interface BulkInsert {
  readonly table: string
  /** Names and types, in the order of the values. */
  readonly columns: Readonly<Record<string, ColumnType>>
  /** Columns with one value for all rows. */
  readonly constants?: Readonly<Record<string, number>>
  /** Handling of existing rows, such as `on conflict (id) do nothing`, and what is returned. */
  readonly conflict?: string
}

export interface Engine {
  readonly dialect: 'sqlite' | 'postgres'
  /** Sees everything committed before. */
  read(statement: Sql): Promise<readonly Row[]>
  /** Reads of one state. */
  snapshot<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /**
   * Atomic, and durable when it resolves. Writers wait on shared rows. `onCommitted` is called once
   * later writes see it, possibly before it is durable: work may continue, but no result may leave
   * yet. A failure after that does not undo the commit.
   */
  write<T>(work: (connection: Connection) => Promise<T>, onCommitted?: () => void): Promise<T>
  /** Without a statement timeout, for work of minutes such as removing a chain. */
  writeAtLength<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Applies missing migrations in order, each in its own transaction. */
  migrate(migrations: readonly Migration[], onMigration?: OnMigration): Promise<void>
  close(): Promise<void>
}

/** Released migrations never change. */
export interface Migration {
  /** Unique and ascending. */
  readonly id: number
  readonly name: string
  /** Portable statements, or one text per engine. */
  readonly sql: string | { readonly sqlite: string; readonly postgres: string }
}

/** Called before each migration of a store in use; large tables take minutes. */
export type OnMigration = (progress: {
  readonly migration: Migration
  readonly step: number
  readonly steps: number
}) => void

/** The database failed or is unreachable. Callers answer 503. */
export class StoreError extends Error {
  override readonly name: string = 'StoreError'
}

/** A unique, check or foreign key constraint refused a write. */
export class ConstraintError extends StoreError {
  override readonly name: string = 'ConstraintError'
}

/** A row was locked for longer than the timeout; nothing is stored. */
export class LockTimeoutError extends StoreError {
  override readonly name: string = 'LockTimeoutError'
}
