import type { Check } from '#ledger/check.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { type Sql, sql } from '#store/sql.ts'

/**
 * Searches for the shape of a secret, whatever its prefix. The database searches, so that no value
 * is read or shown.
 */
export function secretCheck(dialect: Engine['dialect']): Check {
  return {
    name: 'no row holds a secret',
    async run(connection) {
      const differences = []
      for (const place of await textColumns(connection, dialect)) {
        const [row] = await connection.run(sql`
          select count(*) as found from ${plain(place.table)}
          where ${holdsSecret(dialect, place.column)}`)
        const found = row === undefined ? 0 : column.integer(row, 'found')
        if (found > 0)
          differences.push({
            subject: `${place.table}.${place.column}`,
            detail: `expected 0 secrets, found ${found}`,
          })
      }
      return differences
    },
  }
}

interface Place {
  readonly table: string
  readonly column: string
}

async function textColumns(
  connection: Connection,
  dialect: Engine['dialect'],
): Promise<readonly Place[]> {
  const found = await connection.run(
    dialect === 'sqlite'
      ? sql`select tables.name as place, columns.name as name
          from sqlite_master as tables join pragma_table_info(tables.name) as columns
          where tables.type = 'table' and lower(columns.type) = 'text' order by 1, 2`
      : sql`select table_name as place, column_name as name from information_schema.columns
          where table_schema = current_schema() and data_type = 'text' order by 1, 2`,
  )
  return found.map((row) => ({
    table: column.text(row, 'place'),
    column: column.text(row, 'name'),
  }))
}

const HEX = '[0-9a-f]'

function holdsSecret(dialect: Engine['dialect'], name: string): Sql {
  if (dialect === 'postgres') return sql`${plain(name)} ~ ${`[a-z0-9]_${HEX}{8}_${HEX}{32}`}`
  return sql`${plain(name)} glob ${`*[a-z0-9]_${HEX.repeat(8)}_${HEX.repeat(32)}*`}`
}

/** Quotes a column's name, which was read from the catalogue. */
function plain(name: string): Sql {
  return { kind: 'sql', parts: [`"${name.replaceAll('"', '""')}"`], values: [] }
}
