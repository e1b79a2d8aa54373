import { type Check, DIFFERENCES_MAX } from '#ledger/check.ts'
import { accountsMigrations } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { lackingParts } from '#store/lacking-parts.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

/** Runs within a transaction that may write, though nothing is written. */
export function schemaCheck(dialect: Engine['dialect']): Check {
  return {
    name: 'tables, keys and guards are those of a new store',
    async run(connection) {
      const lacking = await lackingParts({ connection, dialect }, accountsMigrations)
      return lacking
        .map((subject) => ({ subject, detail: 'changed, disabled or missing' }))
        .slice(0, DIFFERENCES_MAX)
    },
  }
}

/** A session with `replica` skips every trigger. */
export const guardsAreOn: Check = {
  name: 'no database or role setting disables the guards',
  async run(connection) {
    const found = await connection.run(sql`
      select coalesce(rolname, 'every role') || ' in '
          || coalesce(datname, 'every database') as subject
      from pg_db_role_setting
        left join pg_roles on pg_roles.oid = setrole
        left join pg_database on pg_database.oid = setdatabase
      where 'session_replication_role=replica' = any (setconfig)
        and (setdatabase = 0 or datname = current_database())
      union all
      select 'this session' where current_setting('session_replication_role') = 'replica'`)
    return found.map((row) => ({
      subject: column.text(row, 'subject'),
      detail: 'sets session_replication_role = replica, which disables triggers',
    }))
  },
}
