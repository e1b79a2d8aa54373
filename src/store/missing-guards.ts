import { plainCondition } from './condition.ts'
import type { Row } from './engine.ts'
import { type Guard, type PostgresTrigger, postgresTriggers, sqliteText } from './guard.ts'
import { column } from './row.ts'
import { sql } from './sql.ts'
import type { StoreState } from './stream-table.ts'

export async function missingGuards(
  state: StoreState,
  guards: readonly Guard[],
): Promise<readonly string[]> {
  const standing = new Set(
    state.dialect === 'sqlite' ? await onSqlite(state) : await onPostgres(state),
  )
  const wanted = (guard: Guard) =>
    state.dialect === 'sqlite'
      ? [sqliteText(guard).toLowerCase()]
      : postgresTriggers(guard).map(toLine)
  return guards
    .filter((guard) => !wanted(guard).every((line) => standing.has(line)))
    .map((guard) => guard.name)
}

/** SQLite keeps the text but for the case of its first words. */
async function onSqlite({ connection }: StoreState): Promise<string[]> {
  const found = await connection.run(
    sql`select sql as text from sqlite_master where type = 'trigger'`,
  )
  return found.map((row) => column.text(row, 'text').toLowerCase())
}

async function onPostgres({ connection }: StoreState): Promise<string[]> {
  const found = await connection.run(sql`
    select tgname as name, relname, pg_get_triggerdef(pg_trigger.oid) as text, proname, prosrc
    from pg_trigger join pg_class on pg_class.oid = pg_trigger.tgrelid
      join pg_proc on pg_proc.oid = tgfoid
      join pg_language on pg_language.oid = prolang
    where not tgisinternal and tgenabled in ('O', 'A') and lanname = 'plpgsql'
      and proconfig is null and relnamespace = cast(current_schema() as regnamespace)
      and pronamespace = relnamespace`)
  return found.flatMap(toTrigger).map(toLine)
}

const TRIGGER =
  /^CREATE TRIGGER \S+ (BEFORE|AFTER) (.+?) ON \S+ FOR EACH (ROW|STATEMENT) (?:WHEN \((.*)\) )?EXECUTE FUNCTION \S+\(\)$/s

function toTrigger(row: Row): PostgresTrigger[] {
  const [, moment, on = '', each, when] = TRIGGER.exec(column.text(row, 'text')) ?? []
  if (each === undefined) return []
  return [
    {
      name: column.text(row, 'name'),
      table: column.text(row, 'relname'),
      moment: moment === 'AFTER' ? 'after' : 'before',
      on,
      each: each === 'ROW' ? 'row' : 'statement',
      when: when ?? null,
      calls: column.text(row, 'proname'),
      body: column.text(row, 'prosrc'),
    },
  ]
}

function toLine({ name, table, moment, on, each, when, calls, body }: PostgresTrigger): string {
  const only = when === null ? 'always' : plainCondition(when)
  const does = body.replace(/\s+/g, ' ').trim()
  return [name, table, moment, on.toLowerCase(), each, only, calls, does].join(' | ')
}
