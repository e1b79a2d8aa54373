import type { Row, Sql, SqlValue } from './sql.ts'
import type { ColumnType } from './typed-values.ts'

export interface Connection {
  run(statement: Sql): Promise<readonly Row[]>
  /** Inserts in order; returns what `conflict` returns. */
  insert(into: BulkInsert, rows: Iterable<readonly SqlValue[]>): Promise<readonly Row[]>
}

/** No two rows share a key. */
export interface BulkInsert {
  readonly table: string
  /** Columns in the order of the values. */
  readonly columns: Readonly<Record<string, ColumnType>>
  /** The same for all rows. */
  readonly constants?: Readonly<Record<string, number>>
  /** Such as `on conflict (id) do nothing`. */
  readonly conflict?: string
}

export interface Engine {
  readonly dialect: 'sqlite' | 'postgres'
  /** Sees everything committed before. */
  read(statement: Sql): Promise<readonly Row[]>
  /** Sees one state. */
  snapshot<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Commits atomically, and durably when it resolves. A failure may leave a commit that stands. */
  write<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Has no statement timeout, such as for removing a chain. */
  writeWithoutTimeout<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Runs migrations in order. */
  migrate(migrations: readonly Migration[], onMigration?: OnMigration): Promise<void>
  pool?(): PoolFigures
  /** PostgreSQL: takes an advisory lock; undefined while another process holds it. An embedded store has one process. */
  lock?(key: number): Promise<SessionLock | undefined>
  /** Listens until the engine closes; `undefined` where notifications may have been missed. */
  listen?(channel: Channel, onNotification: (payload: string | undefined) => void): void
  close(): Promise<void>
}

/** What processes on PostgreSQL notify each other of once it is committed; they poll too. */
export type Channel = 'sexton_keys' | 'sexton_blocks'

/** A lock that is free once its connection ends. */
export interface SessionLock {
  /** Call it every few seconds. Throws StoreError once the connection is lost. */
  keep(): Promise<void>
  release(): Promise<void>
}

export interface PoolFigures {
  readonly connectionsMax: number
  readonly open: number
  readonly inUse: number
  /** Statements that wait for a connection. */
  readonly waiting: number
  /** Statements that got none, since the start. */
  readonly refused: number
}

/** Statements that make tables: portable, or one text per engine. */
export type Tables = string | { readonly sqlite: string; readonly postgres: string }

/** Released migrations never change. */
export interface Migration {
  /** Ascending. */
  readonly id: number
  readonly name: string
  readonly sql: Tables
}

/** Called before each migration of a used store; large tables take minutes. */
export type OnMigration = (progress: {
  readonly migration: Migration
  readonly step: number
  readonly steps: number
}) => void

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
