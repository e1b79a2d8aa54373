import { DAY_SECONDS } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { join, sql } from '#store/sql.ts'
import type { Reads } from './reads.ts'

/** Covers questions about last month. */
const KEEP_SECONDS = 35 * DAY_SECONDS

const CLAIMS_PER_RUN_MAX = 500

const ENDED = sql`status in ('expired', 'unlinked', 'rejected') and was_credited = 0`

/** Claims that ended without money, since anyone may post any hash; others stay for the audit. */
export async function pruneClaims(
  deps: {
    readonly reads: Reads
    readonly write: (work: (connection: Connection) => Promise<void>) => Promise<void>
  },
  nowUnix: number,
): Promise<void> {
  const old = await deps.reads.run(sql`
    select id from claims where ${ENDED} and opened_unix <= ${nowUnix - KEEP_SECONDS}
    order by opened_unix, id limit ${CLAIMS_PER_RUN_MAX}`)
  if (old.length === 0) return
  const found = join(old.map((row) => column.text(row, 'id')))
  await deps.write(async (connection) => {
    // A claim reopened meanwhile stays; a locked one gets no new proofs.
    const locked = await connection.run(sql`
      update claims set checked_ms = checked_ms where id in (${found}) and ${ENDED} returning id`)
    if (locked.length === 0) return
    const ids = join(locked.map((row) => column.text(row, 'id')))
    await connection.run(sql`delete from claim_proofs where claim_id in (${ids})`)
    await connection.run(sql`delete from claims where id in (${ids})`)
  })
}
