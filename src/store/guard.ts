import type { Row } from './engine.ts'
import { column } from './row.ts'
import { sql } from './sql.ts'
import type { StoreState } from './stream-table.ts'

/** Something that the database itself refuses to do to rows of a table, whoever asks. */
export interface Guard {
  readonly table: string
  /** Unique in the store. */
  readonly name: string
  readonly on: 'insert' | 'update' | 'delete'
  /** Looks at an update only when one of these columns is set, so that others cost nothing. */
  readonly columns?: readonly string[]
  /** Refuses only rows for which this holds, of `old` and `new`; without it every one. */
  readonly when?: string
  /** Leaves the row as it is without an error. */
  readonly quietly?: boolean
}

/** The statements that put guards up, for a migration. */
export function guardsSql(guards: readonly Guard[]): {
  readonly sqlite: string
  readonly postgres: string
} {
  return {
    sqlite: guards.map((guard) => `${sqliteText(guard)};`).join('\n'),
    postgres: [POSTGRES_FUNCTIONS, ...guards.map(postgresText)].join('\n'),
  }
}

/** As SQLite keeps it: the first two words in capitals, whatever the case they were sent in. */
function sqliteText({ table, name, on, columns, when, quietly }: Guard): string {
  const set = columns === undefined ? '' : ` of ${columns.join(', ')}`
  const only = when === undefined ? '' : ` when ${when}`
  const act = quietly === true ? 'ignore' : `abort, '${table}: ${name}'`
  return `CREATE TRIGGER ${name} before ${on}${set} on ${table}${only} begin select raise(${act}); end`
}

/** The class of the error code (23) makes it a broken constraint, as on SQLite. */
const POSTGRES_FUNCTIONS = `
  create or replace function refuse_row() returns trigger language plpgsql as $$
    begin
      raise exception '%: %', tg_table_name, tg_name using errcode = 'restrict_violation';
    end $$;
  create or replace function skip_row() returns trigger language plpgsql as $$
    begin
      return null;
    end $$;`

/** A condition that asks other rows cannot stand at the trigger there, so it stands in a function. */
function postgresText({ table, name, on, columns, when, quietly }: Guard): string {
  const set = columns === undefined ? '' : ` of ${columns.join(', ')}`
  const act = quietly === true ? 'skip_row' : 'refuse_row'
  const trigger = (condition: string, call: string) =>
    `create trigger ${name} before ${on}${set} on ${table} for each row ${condition}
      execute function ${call}();`
  const truncate =
    on === 'delete'
      ? `create trigger ${name}_truncate before truncate on ${table}
          for each statement execute function refuse_row();`
      : ''
  if (when === undefined) return trigger('', act) + truncate
  if (!/\bselect\b/.test(when)) return trigger(`when (${when})`, act) + truncate
  const refusal =
    quietly === true
      ? 'return null;'
      : `raise exception '${table}: ${name}' using errcode = 'restrict_violation';`
  return `create function ${name}_row() returns trigger language plpgsql as $$
      begin
        if ${when} then ${refusal} end if;
        return ${on === 'delete' ? 'old' : 'new'};
      end $$;
    ${trigger('', `${name}_row`)}${truncate}`
}

/** Guards that the store no longer has, or has otherwise than they were put up. */
export async function missingGuards(
  state: StoreState,
  guards: readonly Guard[],
): Promise<readonly string[]> {
  const standing = state.dialect === 'sqlite' ? await onSqlite(state) : await onPostgres(state)
  return guards
    .filter((guard) => {
      const text = standing.get(guard.name)
      if (text === undefined) return true
      // SQLite keeps the text as it was given but for the case of its first words.
      return state.dialect === 'sqlite' && text.toLowerCase() !== sqliteText(guard).toLowerCase()
    })
    .map((guard) => guard.name)
}

async function onSqlite({ connection }: StoreState): Promise<Map<string, string>> {
  return byName(
    await connection.run(sql`select name, sql as text from sqlite_master where type = 'trigger'`),
  )
}

/** Of those that are switched on. */
async function onPostgres({ connection }: StoreState): Promise<Map<string, string>> {
  return byName(
    await connection.run(sql`
      select tgname as name, pg_get_triggerdef(pg_trigger.oid) as text
      from pg_trigger join pg_class on pg_class.oid = pg_trigger.tgrelid
      where not tgisinternal and tgenabled in ('O', 'A')
        and pg_class.relnamespace = cast(current_schema() as regnamespace)`),
  )
}

function byName(found: readonly Row[]): Map<string, string> {
  return new Map(found.map((row) => [column.text(row, 'name'), column.text(row, 'text')]))
}
