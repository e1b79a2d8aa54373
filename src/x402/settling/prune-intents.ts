import { type Clock, DAY_SECONDS, unixNow } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'

/** A client that shows a refused payment again within a day is told that it was used. */
const KEEP_SECONDS = DAY_SECONDS

/** Intents of one run; a job that is called every minute needs no long run. */
const INTENTS_PER_RUN_MAX = 500

/**
 * Forgets intents that were abandoned before anything was sent, a day after their authorization has
 * ended: anyone may sign payments that fail. One whose authorization still runs stays, since its
 * payer was told that it will not be sent.
 */
export async function pruneIntents(deps: {
  readonly engine: Pick<Engine, 'write'>
  readonly clock: Clock
}): Promise<void> {
  const until = String(unixNow(deps.clock) - KEEP_SECONDS)
  // Decimal digits without leading zeros: of equal length they stand in the order of their numbers.
  const hasEnded = sql`(length(valid_before) < ${until.length}
    or (length(valid_before) = ${until.length} and valid_before <= ${until}))`
  await deps.engine.write((connection) =>
    connection.run(sql`
      delete from x402_intents where status = 'abandoned' and id in (
        select id from x402_intents
        where status = 'abandoned' and look_unix is null and ${hasEnded}
        order by created_unix, id limit ${INTENTS_PER_RUN_MAX})`),
  )
}
