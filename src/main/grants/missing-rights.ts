import type { Engine } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { rows, sql } from '#store/sql.ts'
import { type Role, rightsOf, type StoreName } from './rights.ts'

const SHOWN_MAX = 5

/** Says which rights are missing and what to do; undefined on SQLite. Skips tables not migrated yet. */
export async function missingRights(
  engine: Pick<Engine, 'dialect' | 'read'>,
  store: StoreName,
  role: Role,
): Promise<string | undefined> {
  if (engine.dialect === 'sqlite') return undefined
  const wanted = rightsOf(role).filter((each) => each.store === store)
  if (wanted.length === 0) return undefined
  const pairs = wanted.flatMap(({ table, rights }) => rights.map((right) => [table, right]))
  const found = await engine.read(sql`
    select 'usage on schema ' || nspname as missing from pg_namespace
    where nspname = ${store} and not has_schema_privilege(oid, 'usage')
    union all
    select string_agg(wanted.name, ', ') || ' on ' || nspname || '.' || relname
    from (values ${rows(pairs)}) as wanted (of_table, name)
      join pg_class on relname = of_table
      join pg_namespace on pg_namespace.oid = relnamespace
    where nspname = ${store} and not has_table_privilege(pg_class.oid, wanted.name)
    group by nspname, relname`)
  if (found.length === 0) return undefined
  const missing = found.map((row) => column.text(row, 'missing'))
  const more = missing.length - SHOWN_MAX
  const shown = `${missing.slice(0, SHOWN_MAX).join('; ')}${more > 0 ? `; and ${more} more` : ''}`
  return `lacks rights (${shown}): run "sexton grants --role ${role}", and what it prints as the owner of the tables`
}
