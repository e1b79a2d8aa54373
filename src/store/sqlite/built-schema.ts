import { DatabaseSync } from 'node:sqlite'
import { column } from '#store/sql.ts'
import type { Migration } from '../engine.ts'
import { statementsOf } from '../migrate.ts'
import type { Row } from '../sql.ts'
import type { ColumnType } from '../typed-values.ts'

export interface BuiltColumn {
  readonly name: string
  readonly type: ColumnType
}

interface BuiltSchema {
  readonly columns: ReadonlyMap<string, readonly BuiltColumn[]>
  /** Name and text of each table, index and trigger. */
  readonly parts: readonly Row[]
}

/** Keyed by the text of all migrations: one for each version of a store that a process meets. */
const built = new Map<string, BuiltSchema>()

/** Migrates a store in memory, once in a process; columns are keyed by table, in the order of their making. */
export function buildSchema(migrations: readonly Migration[]): BuiltSchema {
  const texts = migrations.map((each) => statementsOf(each, 'sqlite'))
  const text = texts.join()
  const schema = built.get(text) ?? build(texts)
  built.set(text, schema)
  return schema
}

function build(texts: readonly string[]): BuiltSchema {
  const database = new DatabaseSync(':memory:')
  try {
    for (const text of texts) database.exec(text)
    const rows = database.prepare(COLUMNS).all()
    const columns = Map.groupBy(rows, (row) => column.text(row, 'table_name'))
    return {
      columns: new Map([...columns].map(([table, found]) => [table, found.map(toColumn)])),
      parts: database.prepare(PARTS).all(),
    }
  } finally {
    database.close()
  }
}

function toColumn(row: Row): BuiltColumn {
  return {
    name: column.text(row, 'name'),
    type: row.type === 'TEXT' ? 'text' : 'bigint',
  }
}

const COLUMNS = `
  select tables.name as table_name, listed.name, upper(listed.type) as type
  from sqlite_master as tables, pragma_table_info(tables.name) as listed
  where tables.type = 'table' order by tables.rowid, listed.cid`

export const PARTS = 'select name, sql as text from sqlite_schema where sql is not null'
