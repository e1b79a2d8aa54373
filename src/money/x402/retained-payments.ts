import { type Retained, START } from '#operations/jobs/retained.ts'
import { sql } from '#store/sql.ts'

/** Drops payments that sent nothing a day after expiry, because anyone may sign some that fail. */
export const RETAINED_PAYMENTS: Retained = {
  // Shown again within a day, it is answered "already used".
  keepDays: 1,
  atOnce: { sqlite: 500, postgres: 500 },
  async deletePage(connection, { beforeUnix, limit }) {
    const until = String(beforeUnix)
    // Decimal strings: compare length, then text.
    const hasEnded = sql`(length(valid_before) < ${until.length}
      or (length(valid_before) = ${until.length} and valid_before <= ${until}))`
    const deleted = await connection.run(sql`
      delete from x402_intents where status = 'abandoned' and id in (
        select id from x402_intents
        where status = 'abandoned' and look_unix is null and ${hasEnded}
        order by created_unix, id limit ${limit}) returning id`)
    return { place: START, isDone: deleted.length < limit }
  },
}
