import type { Dialect } from '../dialect.ts'
import type { Connection } from '../engine.ts'
import { column } from '../row.ts'
import { rows, sql } from '../sql.ts'
import { freshParts, schemaParts } from './schema-parts.ts'
import { streamByCursor } from './stream-by-cursor.ts'

export const postgresDialect: Dialect = {
  now: () => sql`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`,
  textColumns: sql`
    select table_name as place, column_name as name from information_schema.columns
    where table_schema = current_schema() and data_type = 'text' order by 1, 2`,
  contains: (text, pattern) => sql`${text} ~ ${pattern}`,
  async isReadOnly(engine) {
    const [row] = await engine.read(sql`show transaction_read_only`)
    return row?.transaction_read_only === 'on'
  },
  async missingRights(engine, { schema, rights }) {
    const found = await engine.read(sql`
      select 'usage on schema ' || nspname as missing from pg_namespace
      where nspname = ${schema} and not has_schema_privilege(oid, 'usage')
      union all
      select string_agg(wanted.name, ', ') || ' on ' || nspname || '.' || relname
      from (values ${rows(rights)}) as wanted (of_table, name)
        join pg_class on relname = of_table
        join pg_namespace on pg_namespace.oid = relnamespace
      where nspname = ${schema} and not has_table_privilege(pg_class.oid, wanted.name)
      group by nspname, relname`)
    return found.map((row) => column.text(row, 'missing'))
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
  /** Guards are off while rows arrive, which halves the time. */
  beforeCopy: (connection, tables) =>
    onEach(connection, tables, (table) => `alter table ${table} disable trigger user`),
  /** Deferred constraints are checked before anything depends on the commit. */
  async afterCopy(connection, tables) {
    await connection.run(sql`set constraints all immediate`)
    await onEach(connection, tables, (table) => `alter table ${table} enable trigger user`)
    await onEach(connection, tables, (table) => `analyze ${table}`)
  },
}

async function onEach(
  connection: Connection,
  tables: readonly string[],
  statement: (table: string) => string,
): Promise<void> {
  for (const table of tables)
    await connection.run({ kind: 'sql', parts: [statement(table)], values: [] })
}
