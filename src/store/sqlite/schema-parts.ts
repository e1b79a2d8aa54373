import { DatabaseSync } from 'node:sqlite'
import type { Connection, Migration, Row } from '../engine.ts'
import { statementsOf } from '../migrate.ts'
import { sql } from '../sql.ts'

const PARTS = sql`select name, sql as text from sqlite_schema where sql is not null`

export function schemaParts(connection: Connection): Promise<readonly Row[]> {
  return connection.run(PARTS)
}

/** Migrates a store in memory. */
export async function freshParts(
  _: Connection,
  migrations: readonly Migration[],
): Promise<readonly Row[]> {
  const database = new DatabaseSync(':memory:')
  try {
    for (const migration of migrations) database.exec(statementsOf(migration, 'sqlite'))
    return database.prepare(PARTS.parts.join('')).all()
  } finally {
    database.close()
  }
}
