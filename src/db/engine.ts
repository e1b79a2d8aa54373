import type { ColumnType, Row, Sql, SqlValue } from './sql.ts'

export interface Connection {
  run(statement: Sql): Promise<readonly Row[]>
  /** Inserts the rows in order; returns what `conflict` returns. */
  insert(into: BulkInsert, rows: Iterable<readonly SqlValue[]>): Promise<readonly Row[]>
}

/** No two rows of an insert may share a key. */
export interface BulkInsert {
  readonly table: string
  /** Columns, in the order of the values. */
  readonly columns: Readonly<Record<string, ColumnType>>
  /** Values that are the same for all rows. */
  readonly constants?: Readonly<Record<string, number>>
  /** Such as `on conflict (id) do nothing`. */
  readonly conflict?: string
}

export interface Engine {
  readonly dialect: 'sqlite' | 'postgres'
  /** Sees everything that was committed before. */
  read(statement: Sql): Promise<readonly Row[]>
  /** Sees one state of the store. */
  snapshot<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Commits atomically, and durably when it resolves. If it rejects, the commit may still stand. */
  write<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Has no statement timeout; for long work such as removing a chain. */
  writeWithoutTimeout<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Applies migrations in order. */
  migrate(migrations: readonly Migration[]): Promise<void>
  pool?(): PoolFigures
  /**
   * Takes an advisory lock on PostgreSQL; undefined while another process holds it. Absent for embedded stores, which
   * one process has to itself.
   */
  lock?(key: number): Promise<SessionLock | undefined>
  /** Listens until the engine closes; calls back with `undefined` when notifications may have been missed. */
  listen?(channel: Channel, onNotification: (payload: string | undefined) => void): void
  close(): Promise<void>
}

/** PostgreSQL channels for committed changes. Processes poll too, so a lost notification only delays them. */
export type Channel = 'sexton_keys' | 'sexton_blocks'

/** Held until its connection ends. */
export interface SessionLock {
  /** Call it every few seconds. Throws StoreError once the connection is lost. */
  keep(): Promise<void>
  release(): Promise<void>
}

export interface PoolFigures {
  readonly connectionsMax: number
  readonly open: number
  readonly inUse: number
  /** Statements waiting for a connection. */
  readonly waiting: number
  /** Statements refused a connection since the start. */
  readonly refused: number
}

/** DDL: portable text, or one text per engine. */
export type Tables = string | { readonly sqlite: string; readonly postgres: string }

/** Released migrations never change. */
export interface Migration {
  /** Ascends. */
  readonly id: number
  readonly name: string
  readonly sql: Tables
}

/** The database failed or is unreachable. */
export class StoreError extends Error {
  override readonly name: string = 'StoreError'
}

export class ConstraintError extends StoreError {
  override readonly name: string = 'ConstraintError'
}

export class LockTimeoutError extends StoreError {
  override readonly name: string = 'LockTimeoutError'
}
