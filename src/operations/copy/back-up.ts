import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SettingsError } from '#main/settings-error.ts'
import { accountsMigrations, readMigrations } from '#main/stores.ts'
import { VERSION } from '#main/version.ts'
import type { Report } from '#operations/upkeep/report.ts'
import { aloneOnSqlite } from '#store/sqlite/alone-on-sqlite.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import type { StoreState } from '#store/stream-table.ts'
import { type Manifest, writeManifest } from './backup-file.ts'
import { accountsAt, differencesIn } from './copied-stores.ts'
import type { CopyContext } from './copy-context.ts'
import { type CopyTask, copyStore } from './copy-store.ts'
import { type StoresPlace, snapshotOf } from './place.ts'

interface Made {
  readonly manifest: Manifest
  /** Those of an older version are audited when they are restored. */
  readonly isAudited: boolean
  readonly differences: readonly string[]
}

/** Accounts in use into one new file, from one snapshot. */
export async function backUp(
  { clock, progress }: CopyContext,
  report: Report,
  { from, file }: { readonly from: StoresPlace; readonly file: string },
): Promise<void> {
  refuseExisting(file)
  const begun = { format: 1, id: randomUUID(), version: VERSION, createdMs: clock() } as const
  const part = `${file}.${begun.id}.part`
  const task = { name: 'backing up', progress }
  try {
    // It holds wallets and digests of secrets.
    closeSync(openSync(part, 'wx', 0o600))
    const made = await snapshotOf(from, (source) => fill(part, { source, begun, task }))
    keep(part, file)
    tell(report, file, made)
  } finally {
    for (const each of [part, `${part}-wal`, `${part}-shm`]) rmSync(each, { force: true })
  }
}

/** A volume that is not mounted must not become a folder. */
function refuseExisting(file: string): void {
  if (existsSync(file))
    throw new SettingsError(
      `${file} exists already; a backup never overwrites, choose another name`,
    )
  if (!existsSync(dirname(file)))
    throw new SettingsError(`no such folder: ${dirname(file)}; make or mount it`)
}

async function fill(
  part: string,
  {
    source,
    begun,
    task,
  }: {
    readonly source: StoreState
    readonly begun: Omit<Manifest, 'tables'>
    readonly task: CopyTask
  },
): Promise<Made> {
  const migrations = await readMigrations(source.connection, 'accounts')
  const empty = openSqlite({ file: part, durability: 'normal' })
  await empty.migrate(migrations).finally(() => empty.close())
  return aloneOnSqlite(part, async (tx) => {
    const target: StoreState = { connection: tx, dialect: 'sqlite' }
    const tables = await copyStore(source, target, accountsAt(migrations), task)
    const isAudited = migrations.length === accountsMigrations.length
    const differences = isAudited ? await differencesIn(target) : []
    const manifest = { ...begun, tables }
    await writeManifest(tx, manifest)
    return { manifest, isAudited, differences }
  })
}

/** Gives the finished backup its name: one file without a log, on the disk before the name stands. */
function keep(part: string, file: string): void {
  const database = new DatabaseSync(part)
  database.exec('pragma journal_mode = delete')
  database.close()
  sync(part)
  // Unlike a rename, a link never replaces a file.
  linkSync(part, file)
  sync(dirname(file))
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/** A backup of accounts that fail their audit is kept all the same, with exit code 1. */
function tell(report: Report, file: string, { manifest, isAudited, differences }: Made): void {
  const rows = [...manifest.tables.values()].reduce((sum, each) => sum + each.rows, 0)
  report.say(`${file}: ${rows} rows, ${statSync(file).size} bytes`)
  if (!isAudited)
    report.say('not audited: the accounts are of an older version; a restore audits them')
  for (const difference of differences) report.say(`WRONG  ${difference}`)
  report.done(
    {
      file,
      id: manifest.id,
      createdAt: new Date(manifest.createdMs).toISOString(),
      tables: Object.fromEntries(manifest.tables),
      isAudited,
      differences,
    },
    differences.length === 0 ? 0 : 1,
  )
}
