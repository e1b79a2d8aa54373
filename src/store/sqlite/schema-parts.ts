import type { Connection, Migration, Row } from '../engine.ts'
import { plain } from '../sql.ts'
import { buildSchema, PARTS } from './built-schema.ts'

export function schemaParts(connection: Connection): Promise<readonly Row[]> {
  return connection.run(plain(PARTS))
}

export async function freshParts(
  _: Connection,
  migrations: readonly Migration[],
): Promise<readonly Row[]> {
  return buildSchema(migrations).parts
}
