import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname, extname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { RoleContext } from '#main/role-context.ts'
import { SettingsError } from '#main/settings-error.ts'
import { accountsMigrations } from '#main/stores.ts'
import { VERSION } from '#main/version.ts'
import type { Engine } from '#store/engine.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import { ACCOUNT_TABLES, copiedAccounts, differencesIn } from '../copied-stores.ts'
import { copyTables, countRows, proveTables, unequalTables } from '../copy-tables.ts'
import { onAccounts } from '../open-accounts.ts'
import type { Report } from '../report.ts'
import { UpkeepError } from '../upkeep-error.ts'
import { type Manifest, writeManifest } from './backup-file.ts'

type Context = Pick<RoleContext, 'settings' | 'clock' | 'progress'>

export function runBackup(context: Context, report: Report, place: string): Promise<void> {
  const { settings, clock, progress } = context
  const createdMs = clock()
  const file = fileIn(place, createdMs)
  const id = randomUUID()
  return onAccounts(settings, async (accounts) => {
    const part = `${file}.${id}.part`
    makePrivate(part)
    try {
      const made = await fill(part, {
        accounts,
        progress,
        manifest: { format: 1, id, version: VERSION, createdMs },
      })
      keep(part, file)
      tell(report, { file, ...made })
    } finally {
      for (const each of [part, `${part}-wal`, `${part}-shm`]) rmSync(each, { force: true })
    }
  })
}

/**
 * A name of its own in a folder; never one that exists. Without an ending it means a folder, or a
 * volume that is not mounted would become a file.
 */
function fileIn(place: string, nowMs: number): string {
  const isFolder = existsSync(place) && statSync(place).isDirectory()
  if (!isFolder && extname(place) === '')
    throw new SettingsError(
      `no such folder: ${place}; make or mount it, or name a file such as ${place}/today.sqlite`,
    )
  const stamp = new Date(nowMs).toISOString().slice(0, 19).replaceAll(':', '')
  const file = resolve(isFolder ? join(place, `sexton-accounts-${stamp}Z.sqlite`) : place)
  if (existsSync(file))
    throw new SettingsError(
      `${file} exists already; a backup never overwrites, choose another name`,
    )
  if (!existsSync(dirname(file)))
    throw new SettingsError(`no such folder: ${dirname(file)}; make it first`)
  return file
}

/** It holds wallets and digests of secrets. */
function makePrivate(file: string): void {
  closeSync(openSync(file, 'wx', 0o600))
}

interface Filled {
  readonly manifest: Manifest
  readonly differences: readonly string[]
}

async function fill(
  part: string,
  {
    accounts,
    progress,
    manifest: begun,
  }: {
    readonly accounts: Engine
    readonly progress: Context['progress']
    readonly manifest: Omit<Manifest, 'tables'>
  },
): Promise<Filled> {
  const copy = openSqlite({ file: part, durability: 'normal' })
  try {
    await copy.migrate(accountsMigrations)
    return await accounts.snapshot(async (connection) => {
      const total = 2 * (await countRows(connection, ACCOUNT_TABLES))
      let done = 0
      const onRows = (count: number) => {
        done += count
        progress.update('backing up', done, total)
      }
      const copied = { ...copiedAccounts, onRows }
      return copy.write(async (tx) => {
        const tables = await copyTables({ connection, dialect: accounts.dialect }, tx, copied)
        const stored = await proveTables({ connection: tx, dialect: 'sqlite' }, copied)
        const unequal = unequalTables(tables, stored)
        if (unequal.length > 0) throw new UpkeepError(`the copies differ in ${unequal.join(', ')}`)
        const differences = await differencesIn(tx, 'sqlite')
        const manifest = { ...begun, tables }
        await writeManifest(tx, manifest)
        return { manifest, differences }
      })
    })
  } finally {
    await copy.close()
  }
}

/** As one file that needs no log, on the disk before its name stands. */
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

function tell(
  report: Report,
  { file, manifest, differences }: Filled & { readonly file: string },
): void {
  const rows = [...manifest.tables.values()].reduce((sum, each) => sum + each.rows, 0)
  report.say(`${file}: ${rows} rows, ${statSync(file).size} bytes`)
  for (const difference of differences) report.say(`WRONG  ${difference}`)
  report.done(
    {
      file,
      id: manifest.id,
      createdAt: new Date(manifest.createdMs).toISOString(),
      tables: Object.fromEntries(manifest.tables),
      differences,
    },
    differences.length === 0 ? 0 : 1,
  )
}
