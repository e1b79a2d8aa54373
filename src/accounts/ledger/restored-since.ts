import type { Connection } from '#store/engine.ts'
import { sql } from '#store/sql.ts'

/**
 * Whether the accounts were restored at this second or later. What was signed to be used once, and could be
 * used from then on, may have been used in the rows that are lost: refuse it.
 */
export async function restoredSince(
  reads: Pick<Connection, 'run'>,
  usableFromUnix: number,
): Promise<boolean> {
  const found = await reads.run(sql`
    select 1 from restores where restored_unix >= ${usableFromUnix} limit 1`)
  return found.length > 0
}

/** A backup holds a row without a time, which its first start as the accounts fills. */
export async function recordRestore(tx: Pick<Connection, 'run'>, nowUnix: number): Promise<void> {
  await tx.run(sql`update restores set restored_unix = ${nowUnix} where restored_unix is null`)
}
