import type { Connection } from '../engine.ts'

/** On this thread or another. */
export interface SqliteWriter extends Connection {
  /** Without parameters. */
  execute(text: string): Promise<void>
  /** Does nothing outside a transaction. */
  rollBack(): Promise<void>
  /** Checkpoints and truncates the log; false while a reader holds an older state. */
  truncateLog(): Promise<boolean>
  close(): Promise<void>
}
