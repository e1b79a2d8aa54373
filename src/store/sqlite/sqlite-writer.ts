import type { Connection } from '../engine.ts'

/** A connection that can write, wherever its thread is. */
export interface SqliteWriter extends Connection {
  /** Any number of statements without parameters. */
  execute(text: string): Promise<void>
  /** Ends the transaction that is open, if one is. */
  rollBack(): Promise<void>
  /** Copies the log into the file; gives false while a reader of an older state holds it, and waits for nobody. */
  truncateLog(): Promise<boolean>
  close(): Promise<void>
}
