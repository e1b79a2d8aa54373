import type { Connection, Migration, Row } from '../engine.ts'
import { statementsOf } from '../migrate.ts'
import { plain, sql } from '../sql.ts'

export function schemaParts(connection: Connection): Promise<readonly Row[]> {
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
export async function freshParts(
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
