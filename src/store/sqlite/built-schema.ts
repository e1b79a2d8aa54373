import { DatabaseSync } from 'node:sqlite'
import type { Migration, Row } from '../engine.ts'
import { statementsOf } from '../migrate.ts'
import { column } from '../row.ts'
import type { ColumnType } from '../typed-values.ts'

export interface UniqueKey {
  readonly table: string
  readonly columns: readonly string[]
  /** The condition of a partial key. */
  readonly where: string | null
  /** Null if part of the table's. */
  readonly text: string | null
}

export interface BuiltSchema {
  readonly tables: ReadonlyMap<string, string>
  readonly uniqueKeys: readonly UniqueKey[]
  readonly columns: ReadonlyMap<string, readonly BuiltColumn[]>
}

export interface BuiltColumn {
  readonly name: string
  readonly type: ColumnType
  readonly isKey: boolean
}

/** Migrates in memory, to compare stores with it. */
export function buildSchema(migrations: readonly Migration[]): BuiltSchema {
  const database = new DatabaseSync(':memory:')
  try {
    for (const migration of migrations) database.exec(statementsOf(migration, 'sqlite'))
    const found = database
      .prepare(`select name, sql from sqlite_master where type = 'table' and sql is not null`)
      .all()
    const keys = database.prepare(UNIQUE_KEYS).all()
    const columns = Map.groupBy(database.prepare(COLUMNS).all(), (row) =>
      column.text(row, 'table_name'),
    )
    return {
      tables: new Map(found.map((row) => [column.text(row, 'name'), column.text(row, 'sql')])),
      uniqueKeys: keys.map((row) => {
        const text = column.textOrNull(row, 'sql')
        const where = /\swhere\s(.*)$/is.exec(text ?? '')?.[1] ?? null
        const columns = column.text(row, 'columns').split(',')
        return { table: column.text(row, 'name'), columns, where, text }
      }),
      columns: new Map([...columns].map(([table, found]) => [table, found.map(toColumn)])),
    }
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

const UNIQUE_KEYS = `
  select tables.name, indexes.sql, (
    select group_concat(name, ',' order by seqno) from pragma_index_info(listed.name)) as columns
  from sqlite_master as tables, pragma_index_list(tables.name) as listed
    left join sqlite_master as indexes on indexes.type = 'index' and indexes.name = listed.name
  where tables.type = 'table' and listed."unique" = 1`
