import { dialectOf, type StoreState } from './dialects.ts'
import type { Migration, Row } from './engine.ts'
import { column } from './row.ts'

/** A table, constraint, index or trigger, in the words of the database. */
interface SchemaPart {
  readonly name: string
  readonly text: string
}

/** Names of what a newly migrated store has and this one has not, disabled or changed. */
export async function lackingParts(
  { connection, dialect }: StoreState,
  migrations: readonly Migration[],
): Promise<readonly string[]> {
  const { schemaParts, freshParts } = dialectOf({ dialect })
  const standing = new Set((await schemaParts(connection)).map((row) => toPart(row).text))
  const wanted = (await freshParts(connection, migrations)).map(toPart)
  return wanted.flatMap(({ name, text }) => (standing.has(text) ? [] : [name]))
}

/** Stores of earlier versions differ in case, white space and the schema's name. */
function toPart(row: Row): SchemaPart {
  const text = column.text(row, 'text').replace(SCHEMA, '').replace(/\s+/g, ' ')
  return { name: column.text(row, 'name').replace(SCHEMA, ''), text: text.toLowerCase() }
}

const SCHEMA = /\b(?:accounts|register|pg_temp(?:_\d+)?)\./g
