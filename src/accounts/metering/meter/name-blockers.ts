import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'

const NAMED_MAX = 5

/** Sessions with an open transaction on tables of the meter, the longest first; PostgreSQL only. */
export async function nameBlockers(engine: Engine): Promise<string> {
  const sessions = await engine.read(sql`
    select distinct sessions.pid, sessions.usename, sessions.application_name, sessions.state,
      cast(sessions.xact_start as text) as since
    from pg_stat_activity as sessions join pg_locks as locks on locks.pid = sessions.pid
    where locks.granted and locks.mode <> 'AccessShareLock'
      and locks.relation in (
        to_regclass('usage_days'), to_regclass('key_days'), to_regclass('keys'),
        to_regclass('balances'), to_regclass('spend_days'))
      and sessions.pid <> pg_backend_pid()
    order by since limit ${NAMED_MAX}`)
  const named = sessions.map(({ pid, usename, application_name: name, state, since }) => {
    // Both are null without the right to see other users' sessions.
    const what = state === null ? 'to see more, grant pg_read_all_stats' : `${state} since ${since}`
    return `pid ${pid} (${name || 'unnamed'}, user ${usename}): ${what}`
  })
  return named.length === 0 ? 'none is left' : named.join('; ')
}
