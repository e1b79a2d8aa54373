import type { Connection } from '#store/engine.ts'
import { sql } from '#store/sql.ts'

/**
 * Whether the accounts were restored or promoted at this second or later. What was signed to be used
 * once, and could be used from then on, may have been used in the rows that are lost: refuse it.
 */
export async function restoredSince(
  reads: Pick<Connection, 'run'>,
  usableFromUnix: number,
): Promise<boolean> {
  const found = await reads.run(sql`
    select 1 from store_copies where kind = 'restore' and created_unix >= ${usableFromUnix} limit 1`)
  return found.length > 0
}
