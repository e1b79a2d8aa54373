import type { Check } from '#accounts/ledger/check.ts'
import type { Dialect } from '#store/dialect.ts'
import { dialectOf } from '#store/dialects.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { column, type Sql, sql } from '#store/sql.ts'

/**
 * Searches for the shape of a key's secret, whatever its prefix. The database searches, so that no value
 * is read or shown.
 */
export function secretCheck(dialect: Engine['dialect']): Check {
  const of = dialectOf({ dialect })
  return {
    name: 'no row holds the secret of a key',
    async run(connection) {
      const differences = []
      for (const place of await textColumns(connection, of)) {
        const [row] = await connection.run(sql`
          select count(*) as found from ${plain(place.table)}
          where ${of.contains(plain(place.column), SECRET)}`)
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

async function textColumns(connection: Connection, of: Dialect): Promise<readonly Place[]> {
  const found = await connection.run(of.textColumns)
  return found.map((row) => ({
    table: column.text(row, 'place'),
    column: column.text(row, 'name'),
  }))
}

const HEX = '[0-9a-f]'

const SECRET = `[a-z0-9]_${HEX.repeat(8)}_${HEX.repeat(32)}`

/** Quotes a column's name, which was read from the catalogue. */
function plain(name: string): Sql {
  return { kind: 'sql', parts: [`"${name.replaceAll('"', '""')}"`], values: [] }
}
