import { type Check, DIFFERENCES_MAX, type Difference } from '#ledger/check.ts'
import { accountsMigrations } from '#main/stores.ts'
import { plainCondition } from '#store/condition.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { type BuiltSchema, buildSchema, type UniqueKey } from '#store/sqlite/built-schema.ts'

/** Compares with the constraints of a new store. */
export function constraintChecks(dialect: Engine['dialect']): readonly Check[] {
  const look = dialect === 'sqlite' ? lookOnSqlite : lookOnPostgres
  return [
    {
      name: 'every table has its constraints and unique keys',
      run: async (connection) =>
        (await look(connection, buildSchema(accountsMigrations))).slice(0, DIFFERENCES_MAX),
    },
  ]
}

/** Table texts lack only separately created indexes. */
async function lookOnSqlite(
  connection: Connection,
  { tables, uniqueKeys }: BuiltSchema,
): Promise<Difference[]> {
  const found = await connection.run(sql`
    select name, tbl_name, sql as text from sqlite_master
    where type in ('table', 'index') and sql is not null`)
  const standing = new Map(found.map((row) => [column.text(row, 'name'), plain(row.text)]))
  const changed = [...tables].filter(([name, text]) => standing.get(name) !== plain(text))
  const missing = uniqueKeys.filter(
    ({ text }) => text !== null && ![...standing.values()].includes(plain(text)),
  )
  return [
    ...changed.map(([subject]) => ({ subject, detail: 'differs from the schema of this version' })),
    ...missing.map(missingKey),
  ]
}

async function lookOnPostgres(
  connection: Connection,
  { tables, uniqueKeys }: BuiltSchema,
): Promise<Difference[]> {
  const constraints = new Set(await standingConstraints(connection))
  const keys = new Set(await standingKeys(connection))
  const missing = [...tables].flatMap(([table, text]) =>
    conditionsOf(text)
      .filter((condition) => !constraints.has(nameOf(table, condition)))
      .map((condition) => ({ subject: table, detail: `nothing enforces ${condition}` })),
  )
  const notUnique = uniqueKeys.filter(({ table, columns, where }) => {
    return !keys.has(nameOf(`${table} ${columns.join(',')}`, where ?? ''))
  })
  return [...missing, ...notUnique.map(missingKey)]
}

function missingKey({ table, columns, where }: UniqueKey): Difference {
  const rows = where === null ? '' : ` where ${where}`
  return { subject: table, detail: `nothing keeps ${columns.join(', ')}${rows} unique` }
}

async function standingConstraints(connection: Connection): Promise<string[]> {
  const found = await connection.run(sql`
    select relname as name, pg_get_constraintdef(pg_constraint.oid) as text
    from pg_constraint join pg_class on pg_class.oid = pg_constraint.conrelid
    where contype = 'c' and convalidated
      and pg_class.relnamespace = cast(current_schema() as regnamespace)`)
  return found.map((row) => {
    const condition = /^CHECK \((.*)\)$/s.exec(column.text(row, 'text'))?.[1] ?? ''
    return nameOf(column.text(row, 'name'), condition)
  })
}

async function standingKeys(connection: Connection): Promise<string[]> {
  const found = await connection.run(sql`
    select relname as name, pg_get_expr(indpred, indrelid) as where_text, (
      select string_agg(attname, ',' order by place)
      from unnest(cast(indkey as smallint[])) with ordinality as part (number, place)
        join pg_attribute on attrelid = indrelid and attnum = part.number) as columns
    from pg_index join pg_class on pg_class.oid = indrelid
    where indisunique and indisvalid and indisready and indimmediate
      and relnamespace = cast(current_schema() as regnamespace)`)
  return found.map((row) => {
    const key = `${column.text(row, 'name')} ${column.text(row, 'columns')}`
    return nameOf(key, column.textOrNull(row, 'where_text') ?? '')
  })
}

function nameOf(subject: string, condition: string): string {
  return `${subject}: ${plainCondition(condition)}`
}

function conditionsOf(text: string): string[] {
  return [...text.matchAll(/\bcheck\s*\(/gi)].map(({ index, 0: opening }) => {
    const start = index + opening.length
    let depth = 1
    let end = start
    while (depth > 0 && end < text.length) {
      if (text[end] === '(') depth += 1
      if (text[end] === ')') depth -= 1
      end += 1
    }
    return text
      .slice(start, end - 1)
      .replace(/\s+/g, ' ')
      .trim()
  })
}

function plain(text: unknown): string {
  return String(text).toLowerCase().replace(/\s+/g, ' ').trim()
}
