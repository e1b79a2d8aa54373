import { createHash } from 'node:crypto'
import type { Connection, Migration, Row } from '#store/engine.ts'
import { plain, type SqlValue, sql } from '#store/sql.ts'
import { type BuiltColumn, buildSchema } from '#store/sqlite/built-schema.ts'
import { type StoreState, streamTable } from '#store/stream-table.ts'

/** What a table holds: equal digests mean equal rows, on either engine. */
export interface TableDigest {
  readonly rows: number
  readonly sha256: string
}

export type TableDigests = ReadonlyMap<string, TableDigest>

export interface CopiedTables {
  readonly tables: readonly string[]
  readonly migrations: readonly Migration[]
  onRows?(count: number): void | Promise<void>
}

const ROWS_AT_ONCE = 5_000

export function copyTables(
  source: StoreState,
  target: Connection,
  copied: CopiedTables,
): Promise<TableDigests> {
  return readTables(source, copied, (table, columns, rows) =>
    target.insert({ table, columns: typesOf(columns) }, rows),
  )
}

export function digestTables(state: StoreState, copied: CopiedTables): Promise<TableDigests> {
  return readTables(state, copied, () => undefined)
}

export function unequalTables(one: TableDigests, other: TableDigests): readonly string[] {
  const names = new Set([...one.keys(), ...other.keys()])
  return [...names].filter((name) => one.get(name)?.sha256 !== other.get(name)?.sha256)
}

export async function countRows(
  connection: Connection,
  tables: readonly string[],
): Promise<number> {
  let rows = 0
  for (const table of tables) {
    const [found] = await connection.run(sql`select count(*) as rows from ${plain(table)}`)
    rows += Number(found?.rows)
  }
  return rows
}

export async function tableWithRows(
  connection: Connection,
  tables: readonly string[],
): Promise<string | undefined> {
  for (const table of tables) {
    const found = await connection.run(sql`select 1 from ${plain(table)} limit 1`)
    if (found.length > 0) return table
  }
  return undefined
}

type Take = (
  table: string,
  columns: readonly BuiltColumn[],
  rows: readonly SqlValue[][],
) => unknown | Promise<unknown>

async function readTables(
  state: StoreState,
  copied: CopiedTables,
  take: Take,
): Promise<TableDigests> {
  const { columns } = buildSchema(copied.migrations)
  const digests = new Map<string, TableDigest>()
  for (const table of copied.tables)
    digests.set(
      table,
      await readTable(state, { table, columns: columns.get(table) ?? [] }, { copied, take }),
    )
  return digests
}

async function readTable(
  state: StoreState,
  { table, columns }: { readonly table: string; readonly columns: readonly BuiltColumn[] },
  { copied, take }: { readonly copied: CopiedTables; readonly take: Take },
): Promise<TableDigest> {
  const names = columns.map(({ name }) => name).join(', ')
  const hash = createHash('sha256')
  let held: SqlValue[][] = []
  let rows = 0
  const pass = async () => {
    await take(table, columns, held)
    await copied.onRows?.(held.length)
    held = []
  }
  for await (const row of streamTable(state, {
    table: `(select ${names} from ${table}) as copied`,
    key: typesOf(columns.filter(({ isKey }) => isKey)),
  })) {
    const values = valuesOf(row, columns)
    hash.update(`${JSON.stringify(values)}\n`)
    held.push(values)
    rows += 1
    if (held.length >= ROWS_AT_ONCE) await pass()
  }
  if (held.length > 0) await pass()
  return { rows, sha256: hash.digest('hex') }
}

function typesOf(columns: readonly BuiltColumn[]) {
  return Object.fromEntries(columns.map(({ name, type }) => [name, type]))
}

function valuesOf(row: Row, columns: readonly BuiltColumn[]): SqlValue[] {
  return columns.map(({ name }) => {
    const value = row[name]
    if (value === null || typeof value === 'string' || typeof value === 'number') return value
    throw new TypeError(`a column holds a text, a number or null, not ${String(value)}`)
  })
}
