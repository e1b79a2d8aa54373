import { column } from '#store/sql.ts'
import { type Dialect, PAGE_ROWS, type StreamedTable } from '../dialect.ts'
import type { Connection, Migration } from '../engine.ts'
import { statementsOf } from '../migrate.ts'
import { plain, type Row, sql } from '../sql.ts'

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

function schemaParts(connection: Connection): Promise<readonly Row[]> {
  return connection.run(PARTS)
}

/** Constraints have no name that is known. A function of another schema keeps its schema's name. */
const PARTS = sql`
  with parts as (select cast(current_schema() as regnamespace) as namespace)
  select tgname as name, concat_ws(' ', pg_get_triggerdef(pg_trigger.oid), lanname, proconfig, prosrc) as text
  from parts join pg_class on relnamespace = namespace
    join pg_trigger on tgrelid = pg_class.oid and not tgisinternal and tgenabled in ('O', 'A')
    join pg_proc on pg_proc.oid = tgfoid join pg_language on pg_language.oid = prolang
  union all
  select relname || ': ' || pg_get_constraintdef(pg_constraint.oid),
    relname || ': ' || pg_get_constraintdef(pg_constraint.oid)
  from parts join pg_class on relnamespace = namespace
    join pg_constraint on conrelid = pg_class.oid and contype <> 'n' and convalidated
  union all
  select relname, pg_get_indexdef(indexrelid)
  from parts join pg_class on relnamespace = namespace
    join pg_index on indexrelid = pg_class.oid and indisvalid and indisready and indimmediate`

/** Takes a transaction that may write, and leaves nothing. Functions of `pg_temp` are found by that name only. */
async function freshParts(
  connection: Connection,
  migrations: readonly Migration[],
): Promise<readonly Row[]> {
  const text = migrations
    .map((migration) => statementsOf(migration, 'postgres').trim().replace(/;$/, ''))
    .join(';\n')
    .replaceAll('execute function ', 'execute function pg_temp.')
  await connection.run(sql`savepoint fresh`)
  await connection.run(sql`set local search_path = pg_temp`)
  await connection.run(plain(`do $do$ begin execute $fresh$${text}$fresh$; end $do$`))
  const parts = await connection.run(PARTS)
  await connection.run(sql`rollback to savepoint fresh`)
  return parts
}

let streams = 0

/** PostgreSQL's index may follow a locale, so a cursor sorts once. */
async function* streamByCursor(
  connection: Connection,
  { table, key, where }: StreamedTable,
): AsyncIterable<Row> {
  streams += 1
  const cursor = plain(`stream_${streams}`)
  const order = Object.entries(key).map(([name, type]) =>
    type === 'text' ? `${name} collate "C"` : name,
  )
  await connection.run(sql`
    declare ${cursor} no scroll cursor for select * from ${plain(table)}
    where ${where ?? sql`true`} order by ${plain(order.join(', '))}`)
  for (;;) {
    const page = await connection.run(sql`fetch ${plain(String(PAGE_ROWS))} from ${cursor}`)
    yield* page
    if (page.length < PAGE_ROWS) break
  }
  await connection.run(sql`close ${cursor}`)
}
