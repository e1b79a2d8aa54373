import type { Connection } from '../engine.ts'

export interface SqliteWriter extends Connection {
  execute(text: string): Promise<void>
  rollBack(): Promise<void>
  /** False while a reader holds an older state. */
  truncateLog(): Promise<boolean>
  close(): Promise<void>
}
