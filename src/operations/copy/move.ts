import { existsSync, readdirSync } from 'node:fs'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { beginEpoch } from '#chains/indexer/feed/write-feed.ts'
import { noteRevokedKeys } from '#main/key-notes.ts'
import { SettingsError } from '#main/settings-error.ts'
import { storeFile } from '#main/store-file.ts'
import { accountsMigrations, migrateStore, openStore, readMigrations } from '#main/stores.ts'
import type { Report } from '#operations/upkeep/report.ts'
import { UpkeepError } from '#operations/upkeep/upkeep-error.ts'
import { type Migration, StoreError } from '#store/engine.ts'
import { appliedIds, ClosedStoreError, closeStore } from '#store/migrate.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import type { StoreState } from '#store/stream-table.ts'
import {
  ACCOUNT_TABLES,
  copiedAccounts,
  copiedRegister,
  recordCopy,
  requireAudited,
} from './copied-stores.ts'
import type { CopyContext } from './copy-context.ts'
import { copyStore, requireEmpty } from './copy-store.ts'
import type { TableDigests } from './copy-tables.ts'
import { aloneIn, requireAccounts, type StoresPlace } from './place.ts'

interface MoveOptions {
  readonly from: StoresPlace
  readonly to: StoresPlace
  readonly despiteDifferences: boolean
}

/** Moves stores that no process serves. The source is closed before the target can be used. */
export async function move(
  context: CopyContext,
  report: Report,
  options: MoveOptions,
): Promise<void> {
  const { from, to } = options
  if (from.name === to.name) throw new SettingsError(`--from and --to are both ${to.name}`)
  requireNewFolder(to)
  const isClosed = await checkSource(options)
  await migrate(to, 'accounts')
  if (isClosed && (await aloneIn(to, 'accounts', (target) => isMoved(target, from)))) {
    report.say(`The accounts of ${from.name} were moved to ${to.name} before.`)
    report.done({ from: from.name, to: to.name, earlier: true })
    return
  }
  // Refuse a used target before the long work.
  await aloneIn(to, 'accounts', (target) => requireEmpty(target, ACCOUNT_TABLES))
  const register = await copyRegister(context, options)
  const { accounts, differences } = await copyAccounts(
    context,
    options,
    isClosed ? [] : accountsMigrations,
  )
  tell(report, options, { register, accounts, differences })
}

const STORE_FILES = /^(?:(?:accounts|register)\.sqlite(?:-wal|-shm|-journal)?|revocations\.jsonl)$/

/** A folder of backups, or any other, must not turn a backup into a move; a killed move left store files only. */
function requireNewFolder({ accounts, dataFolder }: StoresPlace): void {
  if (accounts.kind !== 'sqlite' || !existsSync(dataFolder)) return
  const other = readdirSync(dataFolder).find((name) => !STORE_FILES.test(name))
  if (other !== undefined)
    throw new SettingsError(
      `--to: ${dataFolder} is not empty, it has "${other}"; a move needs a new folder, a backup a file name that ends in .sqlite`,
    )
}

/**
 * Refuses a source in use before anything is created or migrated. Returns whether an earlier move to the
 * same target has closed it, which may have been killed after that.
 */
async function checkSource({ from, to }: MoveOptions): Promise<boolean> {
  requireAccounts(from)
  if (from.register.kind === 'sqlite' && existsSync(storeFile(from.dataFolder, 'register')))
    await aloneIn(from, 'register', async () => undefined)
  try {
    await aloneIn(from, 'accounts', ({ connection }) => readMigrations(connection, 'accounts'))
    return false
  } catch (error) {
    const cause = error instanceof SettingsError ? error.cause : undefined
    if (cause instanceof ClosedStoreError && cause.reason === movedTo(to)) return true
    throw error
  }
}

function movedTo({ name }: StoresPlace): string {
  return `moved to ${name}; start there`
}

async function migrate(place: StoresPlace, name: 'register' | 'accounts'): Promise<void> {
  const engine = await openStore(place.dataFolder, name, place[name])
  await migrateStore(engine, name).finally(() => engine.close())
}

async function isMoved({ connection }: StoreState, from: StoresPlace): Promise<boolean> {
  const found = await connection.run(
    sql`select 1 from store_copies where kind = 'move' and origin = ${from.name}`,
  )
  return found.length > 0
}

/** Undefined where the index reads the chains again instead. */
async function copyRegister(
  { progress }: CopyContext,
  { from, to }: MoveOptions,
): Promise<TableDigests | undefined> {
  if (!(await isCurrentRegister(from))) return undefined
  await migrate(to, 'register')
  return aloneIn(to, 'register', async (target) => {
    if (await hasBlocks(target)) return undefined
    const digests = await aloneIn(from, 'register', (source) =>
      copyStore(source, target, copiedRegister(), { name: 'copying register', progress }),
    )
    await beginEpoch(target.connection)
    return digests
  })
}

async function isCurrentRegister(from: StoresPlace): Promise<boolean> {
  const { dataFolder, register } = from
  if (register.kind === 'sqlite' && !existsSync(storeFile(dataFolder, 'register'))) return false
  const engine = await openStore(dataFolder, 'register', register)
  try {
    const applied = await engine.snapshot((reads) => appliedIds(reads, registerMigrations))
    return applied.size === registerMigrations.length
  } catch (error) {
    // It has no tables, or those of another version.
    if (error instanceof StoreError) return false
    throw error
  } finally {
    await engine.close()
  }
}

async function hasBlocks({ connection }: StoreState): Promise<boolean> {
  const [found] = await connection.run(sql`select count(*) as chains from positions`)
  return found !== undefined && column.integer(found, 'chains') > 0
}

/** The source is closed first: a kill between the two commits leaves no store in use, never two. */
async function copyAccounts(
  { clock, progress }: CopyContext,
  { from, to, despiteDifferences }: MoveOptions,
  migrations: readonly Migration[],
) {
  const state = { isClosed: false }
  try {
    return await aloneIn(to, 'accounts', async (target) => {
      const fill = async (source: StoreState) => {
        const task = { name: 'copying accounts', progress }
        const accounts = await copyStore(source, target, copiedAccounts, task)
        const differences = await requireAudited(target, despiteDifferences)
        await noteRevokedKeys(to, target.connection)
        await recordCopy(target, { kind: 'move', origin: from.name, clock })
        await closeStore(source.connection, movedTo(to))
        return { accounts, differences }
      }
      // Undone if the move fails, so an older version can go on.
      const copied = await aloneIn(from, 'accounts', fill, migrations)
      state.isClosed = true
      return copied
    })
  } catch (cause) {
    if (!state.isClosed || !(cause instanceof StoreError)) throw cause
    throw new UpkeepError(
      `${to.name} failed at its last step, so only that store knows whether it has the accounts, and ${from.name} is closed; run this again, which finishes it (${cause.message})`,
      { cause },
    )
  }
}

function tell(
  report: Report,
  { from, to }: MoveOptions,
  {
    register,
    accounts,
    differences,
  }: {
    readonly register: TableDigests | undefined
    readonly accounts: TableDigests
    readonly differences: readonly string[]
  },
): void {
  if (register !== undefined) showDigests(report, 'register', register)
  showDigests(report, 'accounts', accounts)
  for (const difference of differences) report.say(`WRONG  ${difference}`)
  report.say(`Both sides are equal and audited. ${from.name} is closed: start with ${to.name}.`)
  report.done({
    from: from.name,
    to: to.name,
    earlier: false,
    register: register === undefined ? null : Object.fromEntries(register),
    accounts: Object.fromEntries(accounts),
    differences,
  })
}

function showDigests(report: Report, store: string, digests: TableDigests): void {
  for (const [table, { rows, sha256 }] of digests)
    if (rows > 0) report.say(`${store}.${table}: ${rows} rows, sha256 ${sha256.slice(0, 16)}`)
}
