import { type Clock, unixNow } from '#lib/clock.ts'
import { DAY_SECONDS, startOfDay } from '#lib/day.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'

/** Long enough to answer a question about last month's calls. */
const KEEP_DAYS = 35

/**
 * Forgets the counters of old days, of which anonymous callers leave one per address. Days with
 * paid calls stay, because the audit holds them against the ledger.
 */
export async function pruneUsage(deps: {
  readonly engine: Engine
  readonly clock: Clock
}): Promise<void> {
  const oldest = startOfDay(unixNow(deps.clock)) - KEEP_DAYS * DAY_SECONDS
  await deps.engine.write((connection) =>
    connection.run(sql`delete from usage_days where day < ${oldest} and paid = 0`),
  )
}
