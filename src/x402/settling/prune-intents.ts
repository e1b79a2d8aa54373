import { type Clock, DAY_SECONDS, unixNow } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'

/** Shown again within a day, it is answered "already used". */
const KEEP_SECONDS = DAY_SECONDS

const INTENTS_PER_RUN_MAX = 500

/** Only intents that sent nothing, a day after expiry: anyone may sign payments that fail. */
export async function pruneIntents(deps: {
  readonly engine: Pick<Engine, 'write'>
  readonly clock: Clock
}): Promise<void> {
  const until = String(unixNow(deps.clock) - KEEP_SECONDS)
  // Decimal strings: compare length, then text.
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
