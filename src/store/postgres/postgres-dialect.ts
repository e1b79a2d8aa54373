import type { Dialect } from '../dialect.ts'
import { column } from '../row.ts'
import { sql } from '../sql.ts'
import { freshParts, schemaParts } from './schema-parts.ts'
import { streamByCursor } from './stream-by-cursor.ts'

export const postgresDialect: Dialect = {
  textColumns: sql`
    select table_name as place, column_name as name from information_schema.columns
    where table_schema = current_schema() and data_type = 'text' order by 1, 2`,
  contains: (text, pattern) => sql`${text} ~ ${pattern}`,
  async isReadOnly(engine) {
    const [row] = await engine.read(sql`show transaction_read_only`)
    return row?.transaction_read_only === 'on'
  },
  schemaParts,
  freshParts,
  inScratch: (engine, work) => engine.write(work),
  streamTable: streamByCursor,
  // A session with `replica` skips every trigger.
  async guardsOff(connection) {
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
    return found.map((row) => column.text(row, 'subject'))
  },
}
