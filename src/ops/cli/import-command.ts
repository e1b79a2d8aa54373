import { existsSync, renameSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Command } from 'commander'
import { revokeAgain } from '#accounts/keys/revoked-keys.ts'
import { unixNow } from '#base/time.ts'
import { ConfigError } from '#config.ts'
import type { Connection } from '#db/engine.ts'
import { column, plain, type Row, type SqlValue } from '#db/sql.ts'
import type { CommandContext } from '#main/command-context.ts'
import { storeFile } from '#main/registers.ts'
import { migrateStore, openStore } from '#main/stores.ts'
import { rowChecks } from '#ops/audit/audit-accounts.ts'
import {
  type Report,
  runUpkeep,
  UpkeepError,
  type UpkeepOptions,
  upkeepCommand,
} from '#ops/cli/run-on-stores.ts'

const IMPORT = `
Copies the accounts of a data folder into the empty PostgreSQL of SEXTON_DATABASE_URL, once. Stop the service
first. It is one transaction, audited before it commits; afterwards accounts.sqlite is renamed, so that nothing
starts on it again. The register is built from the chains.

Examples:
  SEXTON_DATABASE_URL=postgres://sexton:secret@db.example/sexton sexton import --from .sexton
`

export function importCommand(process: NodeJS.Process): Command {
  return upkeepCommand('import')
    .description('copy accounts from SQLite into an empty PostgreSQL')
    .requiredOption('--from <folder>', 'data folder with accounts.sqlite')
    .addHelpText('after', IMPORT)
    .action(({ from, ...options }: UpkeepOptions & { readonly from: string }) =>
      runUpkeep(process, options, (context, report) => runImport(context, report, from)),
    )
}

type Counts = Readonly<Record<string, number>>

/** Copies embedded accounts into the empty PostgreSQL of the config, in one transaction. */
export async function runImport(
  { config, clock }: Pick<CommandContext, 'config' | 'clock'>,
  report: Report,
  folder: string,
): Promise<void> {
  const file = storeFile(folder, 'accounts')
  if (config.database.kind !== 'postgres')
    throw new ConfigError('SEXTON_DATABASE_URL: set it to an empty PostgreSQL')
  if (!existsSync(file)) throw new ConfigError(`--from: no such file: ${file}`)
  const old = await openStore(folder, 'accounts', { kind: 'sqlite' })
  try {
    await migrateStore(old, 'accounts')
    await revokeAgain(folder, old, unixNow(clock))
  } finally {
    await old.close()
  }
  const target = await openStore('', 'accounts', config.database)
  const source = new DatabaseSync(file)
  let counts: Counts
  try {
    await migrateStore(target, 'accounts')
    lock(source, file)
    counts = await target.writeWithoutTimeout((tx) => fill(tx, source))
  } finally {
    source.close()
    await target.close()
  }
  // Renamed, so that nothing starts on it again: its keys would pay twice.
  renameSync(file, `${file}.imported`)
  for (const [table, rows] of Object.entries(counts))
    if (rows > 0) report.say(`${table}: ${rows} rows`)
  report.say(`The audit of the imported accounts found nothing. ${file} is now ${file}.imported.`)
  report.done({ tables: counts, source: `${file}.imported` })
}

/** Throws while any other connection is open. */
function lock(source: DatabaseSync, file: string): void {
  try {
    source.exec('pragma locking_mode = exclusive; begin immediate')
  } catch (cause) {
    throw new UpkeepError(`${file} is in use by another process; stop it`, { cause })
  }
}

async function fill(tx: Connection, source: DatabaseSync): Promise<Counts> {
  const columns = columnsByTable(source)
  const tables = [...columns.keys()]
  const each = async (statement: (table: string) => string) => {
    for (const table of tables) await tx.run(plain(statement(table)))
  }
  // Guards expect rows in the order of their making, so disable them; this also locks other sessions out.
  await each((table) => `alter table ${table} disable trigger user`)
  for (const table of tables)
    if ((await countRows(tx, table)) > 0)
      throw new UpkeepError(`the database has rows in "${table}"; name an empty one`)
  const counts: Record<string, number> = {}
  for (const [table, list] of columns) counts[table] = await copyTable(tx, source, { table, list })
  // Checks deferred constraints before anything depends on the commit.
  await tx.run(plain('set constraints all immediate'))
  await each((table) => `alter table ${table} enable trigger user`)
  await each((table) => `analyze ${table}`)
  await prove(tx, counts)
  return counts
}

/** Returns tables in the order of their making. */
function columnsByTable(source: DatabaseSync): ReadonlyMap<string, readonly Row[]> {
  const rows = source.prepare(`
    select tables.name as table_name, listed.name, upper(listed.type) as type
    from sqlite_master as tables, pragma_table_info(tables.name) as listed
    where tables.type = 'table' and tables.name <> 'migrations' order by tables.rowid, listed.cid`)
  return Map.groupBy(rows.all(), (row) => column.text(row, 'table_name'))
}

const ROWS_AT_ONCE = 5_000

async function copyTable(
  tx: Connection,
  source: DatabaseSync,
  { table, list }: { readonly table: string; readonly list: readonly Row[] },
): Promise<number> {
  const names = list.map((row) => column.text(row, 'name'))
  const columns = list.map((row) => [
    column.text(row, 'name'),
    row.type === 'TEXT' ? ('text' as const) : ('bigint' as const),
  ])
  const into = { table, columns: Object.fromEntries(columns) }
  const statement = source.prepare(`select ${names.join(', ')} from ${table}`)
  let rows: SqlValue[][] = []
  let count = 0
  const send = async () => {
    await tx.insert(into, rows)
    count += rows.length
    rows = []
  }
  for (const row of statement.iterate()) {
    rows.push(names.map((name) => toValue(row[name])))
    if (rows.length === ROWS_AT_ONCE) await send()
  }
  if (rows.length > 0) await send()
  return count
}

function toValue(value: unknown): SqlValue {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value
  throw new TypeError(`not a text, a number or null: ${String(value)}`)
}

async function prove(tx: Connection, counts: Counts): Promise<void> {
  const wrong: string[] = []
  for (const [table, rows] of Object.entries(counts)) {
    const found = await countRows(tx, table)
    if (found !== rows) wrong.push(`${table} has ${found} of ${rows} rows`)
  }
  for (const check of rowChecks)
    for (const { subject, detail } of await check.run(tx))
      wrong.push(`${check.name}: ${subject}: ${detail}`)
  if (wrong.length > 0)
    throw new UpkeepError(`nothing was imported, since the audit found: ${wrong.join('; ')}`)
}

async function countRows(tx: Connection, table: string): Promise<number> {
  const [row] = await tx.run(plain(`select count(*) as rows from ${table}`))
  return row === undefined ? 0 : column.integer(row, 'rows')
}
