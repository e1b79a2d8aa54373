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

/**
 * Work in one transaction, or one snapshot: what it throws takes everything back. `committing` is
 * called in the same turn as the commit: where that is done when it returns, nobody reads in between.
 */
export async function inTransaction<T>(
  connection: SqliteWriter,
  begin: 'begin' | 'begin immediate',
  work: (connection: Connection) => Promise<T>,
  committing?: () => void,
): Promise<T> {
  await connection.execute(begin)
  try {
    const result = await work(connection)
    const committed = connection.execute('commit')
    committing?.()
    await committed
    return result
  } catch (error) {
    await connection.rollBack()
    throw error
  }
}
