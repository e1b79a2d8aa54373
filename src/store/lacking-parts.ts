import { DatabaseSync } from 'node:sqlite'
import type { Connection, Migration, Row } from './engine.ts'
import { statementsOf } from './migrate.ts'
import { column } from './row.ts'
import { type Sql, sql } from './sql.ts'
import type { StoreState } from './stream-table.ts'

/** A table, constraint, index or trigger, in the words of the database. */
interface SchemaPart {
  readonly name: string
  readonly text: string
}

/** Names of what a newly migrated store has and this one has not, disabled or changed. */
export async function lackingParts(
  { connection, dialect }: StoreState,
  migrations: readonly Migration[],
): Promise<readonly string[]> {
  const parts = dialect === 'sqlite' ? SQLITE_PARTS : POSTGRES_PARTS
  const standing = new Set((await connection.run(parts)).map((row) => toPart(row).text))
  const wanted = dialect === 'sqlite' ? inMemory(migrations) : await inTemp(connection, migrations)
  return wanted.map(toPart).flatMap(({ name, text }) => (standing.has(text) ? [] : [name]))
}

const SQLITE_PARTS = sql`select name, sql as text from sqlite_schema where sql is not null`

/** Constraints have no name that is known. A function of another schema keeps its schema's name. */
const POSTGRES_PARTS = sql`
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

/** Stores of earlier versions differ in case, white space and the schema's name. */
function toPart(row: Row): SchemaPart {
  const text = column.text(row, 'text').replace(SCHEMA, '').replace(/\s+/g, ' ')
  return { name: column.text(row, 'name').replace(SCHEMA, ''), text: text.toLowerCase() }
}

const SCHEMA = /\b(?:accounts|register|pg_temp(?:_\d+)?)\./g

function inMemory(migrations: readonly Migration[]): readonly Row[] {
  const database = new DatabaseSync(':memory:')
  try {
    for (const migration of migrations) database.exec(statementsOf(migration, 'sqlite'))
    return database.prepare(SQLITE_PARTS.parts.join('')).all()
  } finally {
    database.close()
  }
}

/** Takes a transaction that may write, and leaves nothing. Functions of `pg_temp` are found by that name only. */
async function inTemp(
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
  const parts = await connection.run(POSTGRES_PARTS)
  await connection.run(sql`rollback to savepoint fresh`)
  return parts
}

function plain(text: string): Sql {
  return { kind: 'sql', parts: [text], values: [] }
}
