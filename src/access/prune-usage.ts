import { type Clock, unixNow } from '#lib/clock.ts'
import { DAY_SECONDS, startOfDay } from '#lib/day.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'

/** Long enough to answer a question about last month's calls. */
const KEEP_DAYS = 35

/**
 * Forgets refunds, processes and counters of old days, of which anonymous callers leave one per address. Days with
 * paid calls stay, because the audit holds them against the ledger.
 */
export async function pruneUsage(deps: {
  readonly engine: Engine
  readonly clock: Clock
}): Promise<void> {
  const oldest = startOfDay(unixNow(deps.clock)) - KEEP_DAYS * DAY_SECONDS
  await deps.engine.write(async (connection) => {
    await connection.run(sql`delete from usage_days where day < ${oldest} and paid = 0`)
    await connection.run(sql`delete from refunds where day < ${oldest}`)
    await connection.run(sql`delete from meters where day < ${oldest}`)
  })
}
