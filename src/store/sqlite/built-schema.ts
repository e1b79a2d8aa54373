import { DatabaseSync } from 'node:sqlite'
import type { Migration, Row } from '../engine.ts'
import { statementsOf } from '../migrate.ts'
import { column } from '../row.ts'
import type { ColumnType } from '../typed-values.ts'

export interface BuiltColumn {
  readonly name: string
  readonly type: ColumnType
  readonly isKey: boolean
}

type BuiltSchema = ReadonlyMap<string, readonly BuiltColumn[]>

const built = new WeakMap<readonly Migration[], BuiltSchema>()

/** Columns by table, of a store migrated in memory once in a process. */
export function buildSchema(migrations: readonly Migration[]): BuiltSchema {
  const known = built.get(migrations)
  if (known !== undefined) return known
  const schema = build(migrations)
  built.set(migrations, schema)
  return schema
}

function build(migrations: readonly Migration[]): BuiltSchema {
  const database = new DatabaseSync(':memory:')
  try {
    for (const migration of migrations) database.exec(statementsOf(migration, 'sqlite'))
    const rows = database.prepare(COLUMNS).all()
    const columns = Map.groupBy(rows, (row) => column.text(row, 'table_name'))
    return new Map([...columns].map(([table, found]) => [table, found.map(toColumn)]))
  } finally {
    database.close()
  }
}

function toColumn(row: Row): BuiltColumn {
  return {
    name: column.text(row, 'name'),
    type: row.type === 'TEXT' ? 'text' : 'bigint',
    isKey: column.integer(row, 'pk') > 0,
  }
}

const COLUMNS = `
  select tables.name as table_name, listed.name, upper(listed.type) as type, listed.pk
  from sqlite_master as tables, pragma_table_info(tables.name) as listed
  where tables.type = 'table' order by tables.name, listed.cid`
