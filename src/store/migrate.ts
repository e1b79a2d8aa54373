import assert from 'node:assert/strict'
import type { Connection, Migration } from './engine.ts'
import { StoreError } from './engine.ts'
import { column } from './row.ts'
import { sql } from './sql.ts'

export function assertInOrder(migrations: readonly Migration[]): void {
  for (const [index, migration] of migrations.entries()) {
    const previous = migrations[index - 1]?.id ?? 0
    assert(migration.id > previous, `migration ${migration.id} ${migration.name} is out of order`)
  }
}

export class OutdatedStoreError extends StoreError {
  override readonly name: string = 'OutdatedStoreError'
}

/** Above every migration, so that versions without moves refuse the store as well. */
export const MOVED_ID = 9_999

export const BEING_MOVED = 'being moved to '
export const MOVED = 'moved to '

/** Its rows are elsewhere or, before the end of a move, may be. */
export class MovedStoreError extends StoreError {
  override readonly name: string = 'MovedStoreError'
  readonly isComplete: boolean
  readonly place: string
  constructor(mark: string) {
    super(`this store was ${mark}`)
    this.isComplete = mark.startsWith(MOVED)
    this.place = mark.replace(this.isComplete ? MOVED : BEING_MOVED, '')
  }
}

/** Refuses a database that was moved, or migrated by another version. */
export async function appliedIds(
  connection: Connection,
  migrations: readonly Migration[],
): Promise<Set<number>> {
  const applied = await connection.run(sql`select id, name from migrations order by id`)
  const known = new Map(migrations.map((migration) => [migration.id, migration.name]))
  const oldest = Math.min(...known.keys())
  for (const row of applied) {
    const id = column.integer(row, 'id')
    if (id === MOVED_ID) throw new MovedStoreError(column.text(row, 'name'))
    if (id < oldest) throw new OutdatedStoreError('its tables are of an earlier version')
    if (known.get(id) !== column.text(row, 'name'))
      throw new StoreError(
        `this database has migration ${id} "${row.name}", which this version does not know: start a version that does`,
      )
  }
  return new Set(applied.map((row) => column.integer(row, 'id')))
}

/** Like `appliedIds`; none after tables too old to migrate were dropped, where that is wanted. */
export async function idsAfterRebuild(
  connection: Connection,
  migrations: readonly Migration[],
  dropTables: (() => Promise<void>) | undefined,
): Promise<Set<number>> {
  try {
    return await appliedIds(connection, migrations)
  } catch (error) {
    if (!(error instanceof OutdatedStoreError) || dropTables === undefined) throw error
    await dropTables()
    return new Set()
  }
}

/**
 * SQLite keeps one tree instead of two; for few columns beside the key. PostgreSQL reads a comment.
 */
export const CLUSTERED = '/* clustered by its key */'

export function statementsOf(migration: Migration, dialect: 'sqlite' | 'postgres'): string {
  const text = typeof migration.sql === 'string' ? migration.sql : migration.sql[dialect]
  return dialect === 'sqlite' ? text.replaceAll(CLUSTERED, 'without rowid') : text
}
