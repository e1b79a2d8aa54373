import type { Dialect } from '../dialect.ts'
import { sql } from '../sql.ts'
import { freshParts, schemaParts } from './schema-parts.ts'
import { streamByKey } from './stream-by-key.ts'

export const sqliteDialect: Dialect = {
  textColumns: sql`
    select tables.name as place, columns.name as name
    from sqlite_master as tables join pragma_table_info(tables.name) as columns
    where tables.type = 'table' and lower(columns.type) = 'text' order by 1, 2`,
  contains: (text, pattern) => sql`${text} glob ${`*${pattern}*`}`,
  isReadOnly: async () => false,
  schemaParts,
  freshParts,
  inScratch: (engine, work) => engine.snapshot(work),
  streamTable: streamByKey,
}
