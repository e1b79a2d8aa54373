import { isDeepStrictEqual } from 'node:util'
import { chunks } from '#lib/chunks.ts'
import type { Connection } from '#store/engine.ts'
import { join, type Sql, type SqlValue, sql } from '#store/sql.ts'
import type { BuiltColumn } from '#store/sqlite/built-schema.ts'
import type { MovingFile } from '#store/sqlite/moving-file.ts'
import { inKeys } from '#store/typed-values.ts'
import { ACCOUNT_TABLES, copiedAccounts } from '../copied-stores.ts'
import { columnsOf, countRows, typesOf, valuesOf } from '../copy-tables.ts'
import { UpkeepError } from '../upkeep-error.ts'

const KEYS_AT_ONCE = 500

/** The changed rows of a table, as the frozen source has them now. */
interface Changed {
  readonly table: string
  readonly columns: readonly BuiltColumn[]
  readonly keys: readonly (readonly SqlValue[])[]
  readonly rows: readonly (readonly SqlValue[])[]
}

/**
 * Brings the copy to the state of the frozen source: every noted key is written anew or removed, and
 * read back. Returns their number; throws if any table differs in rows or their number.
 */
export async function applyChanges(source: MovingFile, target: Connection): Promise<number> {
  const schema = columnsOf(copiedAccounts.migrations)
  const noted = await source.changes()
  const changes: Changed[] = []
  for (const table of ACCOUNT_TABLES)
    for (const texts of chunks(noted.get(table) ?? [], KEYS_AT_ONCE)) {
      const columns = schema.get(table) ?? []
      const keys = texts.map(parseKey)
      const rows = await readRows(source.connection, { table, columns, keys })
      changes.push({ table, columns, keys, rows })
    }
  // Children first, then parents.
  for (const change of changes.toReversed()) await removeGone(target, change)
  for (const change of changes) await writeRows(target, change)
  for (const change of changes) await proveRows(target, change)
  await proveCounts(source.connection, target)
  return changes.reduce((sum, { keys }) => sum + keys.length, 0)
}

function parseKey(text: string): readonly SqlValue[] {
  const key: unknown = JSON.parse(text)
  if (!Array.isArray(key)) throw new TypeError(`not a key: ${text}`)
  return key
}

async function readRows(
  connection: Connection,
  { table, columns, keys }: Omit<Changed, 'rows'>,
): Promise<readonly (readonly SqlValue[])[]> {
  const found = await connection.run(sql`
    select ${join(columns.map(({ name }) => plain(name)))} from ${plain(table)}
    where ${inKeys(keyTypes(columns), keys)}`)
  return found.map((row) => valuesOf(row, columns))
}

async function removeGone(target: Connection, change: Changed): Promise<void> {
  const { table, columns, keys, rows } = change
  const standing = new Set(rows.map((row) => nameOf(keyIn(row, columns))))
  const gone = keys.filter((key) => !standing.has(nameOf(key)))
  if (gone.length > 0)
    await target.run(sql`delete from ${plain(table)} where ${inKeys(keyTypes(columns), gone)}`)
}

/** Rows that exist first: what they give up, such as a live credit's place, new ones may take. */
async function writeRows(target: Connection, change: Changed): Promise<void> {
  const { table, columns, rows } = change
  const existing = new Set(
    (await readRows(target, change)).map((row) => nameOf(keyIn(row, columns))),
  )
  const isKnown = (row: readonly SqlValue[]) => existing.has(nameOf(keyIn(row, columns)))
  const names = columns.filter(({ isKey }) => isKey).map(({ name }) => name)
  const others = columns.filter(({ isKey }) => !isKey)
  const set = others.map(({ name }) => `${name} = excluded.${name}`).join(', ')
  const conflict = `on conflict (${names.join(', ')}) do ${set === '' ? 'nothing' : `update set ${set}`}`
  const into = { table, columns: typesOf(columns) }
  await target.insert({ ...into, conflict }, rows.filter(isKnown))
  await target.insert(
    into,
    rows.filter((row) => !isKnown(row)),
  )
}

async function proveRows(target: Connection, change: Changed): Promise<void> {
  const byKey = (rows: readonly (readonly SqlValue[])[]) => rows.map(nameOf).sort()
  const stored = await readRows(target, change)
  if (!isDeepStrictEqual(byKey(stored), byKey(change.rows)))
    throw new UpkeepError(`the changed rows of ${change.table} differ between the two sides`)
}

async function proveCounts(source: Connection, target: Connection): Promise<void> {
  for (const table of ACCOUNT_TABLES) {
    const [here, there] = [await countRows(source, [table]), await countRows(target, [table])]
    if (here !== there)
      throw new UpkeepError(
        `${table} has ${here} rows in the old store, and ${there} in the new one`,
      )
  }
}

function keyTypes(columns: readonly BuiltColumn[]) {
  return typesOf(columns.filter(({ isKey }) => isKey))
}

function keyIn(row: readonly SqlValue[], columns: readonly BuiltColumn[]): readonly SqlValue[] {
  return row.filter((_, index) => columns[index]?.isKey)
}

function nameOf(values: readonly SqlValue[]): string {
  return JSON.stringify(values)
}

function plain(text: string): Sql {
  return { kind: 'sql', parts: [text], values: [] }
}
