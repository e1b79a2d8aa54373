import type { Retained } from '#operations/jobs/retained.ts'
import { START } from '#operations/jobs/retained.ts'
import { column } from '#store/row.ts'
import { join, sql } from '#store/sql.ts'

/** Claims without money, since anyone may post any hash; others stay for the audit. */
export const RETAINED_CLAIMS: Retained = {
  // Covers questions about last month.
  keepDays: 35,
  atOnce: { sqlite: 500, postgres: 500 },
  async deletePage(connection, { beforeUnix, limit }) {
    // A claim reopened meanwhile stays; a locked one gets no new proofs.
    const locked = await connection.run(sql`
      update claims set id = id where was_credited = 0 and id in (
        select id from claims where was_credited = 0 and opened_unix <= ${beforeUnix}
        order by opened_unix, id limit ${limit}) returning id`)
    const ids = locked.map((row) => column.text(row, 'id'))
    if (ids.length > 0) {
      await connection.run(sql`delete from claim_proofs where claim_id in (${join(ids)})`)
      await connection.run(sql`delete from claims where id in (${join(ids)})`)
    }
    return { place: START, isDone: ids.length < limit }
  },
}
