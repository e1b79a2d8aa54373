import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { RoleContext } from '#main/role-context.ts'
import { SettingsError } from '#main/settings-error.ts'
import { storeFile } from '#main/store-file.ts'
import { migrateStore, openStore } from '#main/stores.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { MovingFile } from '#store/sqlite/moving-file.ts'
import { ACCOUNT_TABLES, differencesIn, firstFew, movedTables } from '../copied-stores.ts'
import { countRows, type TableProofs } from '../copy-tables.ts'
import { type Report, showProofs } from '../report.ts'
import { UpkeepError } from '../upkeep-error.ts'
import { type MovedAccounts, moveAccounts, settle } from './move-accounts.ts'
import { moveRegister } from './move-register.ts'

export interface MoveOptions {
  readonly to: string
  readonly frozenSeconds: number
}

type Context = Pick<RoleContext, 'settings' | 'clock' | 'progress'>

export async function runMove(
  { settings, clock, progress }: Context,
  report: Report,
  { to, frozenSeconds }: MoveOptions,
): Promise<void> {
  const { dataFolder } = settings
  if (settings.accounts.kind === 'postgres')
    throw new SettingsError(
      'the accounts are in PostgreSQL already; unset SEXTON_DATABASE_URL and SEXTON_ACCOUNTS_URL, and name the old folder with --data',
    )
  const file = storeFile(dataFolder, 'accounts')
  if (!existsSync(file))
    throw new SettingsError(`no such file: ${file}; name the folder of the accounts with --data`)
  const place = placeOf(to)
  const source = await MovingFile.open(file, movedTables())
  const target = openPostgres({ url: to, schema: 'accounts' })
  try {
    const earlier = await endEarlier({ source, target }, place)
    if (earlier === 'moved') {
      report.say(`The accounts were moved to ${place} already.`)
      report.done({ moved: true, to: place, earlier: true })
      return
    }
    await migrateStore(target, 'accounts')
    const register = await carryRegister(settings, to, progress)
    const moved = await fromFolder(dataFolder, async (reader) => {
      const total = 2 * (await countRows(source.connection, ACCOUNT_TABLES))
      let done = 0
      return moveAccounts({
        source,
        reader,
        target,
        clock,
        move: { id: randomUUID(), place },
        frozenMsMax: frozenSeconds * 1_000,
        onRows(count) {
          done += count
          progress.update('copying accounts', done, total)
        },
      })
    })
    progress.finish()
    tell(report, { place, register, moved })
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    throw new UpkeepError(
      `a database failed, and the accounts stay where they are; check both and run this again (${cause.message})`,
      { cause },
    )
  } finally {
    await target.close()
    await source.close()
  }
}

async function endEarlier(
  deps: { readonly source: MovingFile; readonly target: Engine },
  place: string,
): Promise<'moved' | 'here'> {
  const state = await deps.source.state()
  if (state.kind === 'open') return 'here'
  if (state.kind === 'busy')
    throw new UpkeepError(
      'another "sexton move" works on this folder; if it was killed, wait 10 s and run this again',
    )
  if (state.place !== place)
    throw new UpkeepError(
      state.kind === 'moved'
        ? `the accounts were moved to ${state.place}`
        : `an earlier move to ${state.place} was cut off; run "sexton move" to that database first`,
    )
  if (state.kind === 'moved') return 'moved'
  await migrateStore(deps.target, 'accounts')
  return (await settle(deps, state)) === 'moved' ? 'moved' : 'here'
}

async function fromFolder<T>(dataFolder: string, work: (reader: Engine) => Promise<T>): Promise<T> {
  const reader = await openStore(dataFolder, 'accounts', { kind: 'sqlite' })
  try {
    await migrateStore(reader, 'accounts')
    const differences = await reader.snapshot((reads) => differencesIn(reads, 'sqlite'))
    if (differences.length > 0)
      throw new UpkeepError(`the accounts fail their audit: ${firstFew(differences)}`)
    return await work(reader)
  } finally {
    await reader.close()
  }
}

async function carryRegister(
  { dataFolder, register }: Context['settings'],
  url: string,
  progress: Context['progress'],
): Promise<TableProofs | 'kept'> {
  if (register.kind === 'postgres' || !existsSync(storeFile(dataFolder, 'register'))) return 'kept'
  const source = await openStore(dataFolder, 'register', register)
  const target = openPostgres({ url, schema: 'register' })
  try {
    for (const each of [source, target]) await migrateStore(each, 'register')
    const onProgress = (done: number, total: number) =>
      progress.update('copying register', done, total)
    return (await moveRegister(source, target, onProgress)) ?? 'kept'
  } finally {
    await target.close()
    await source.close()
  }
}

function tell(
  report: Report,
  {
    place,
    register,
    moved,
  }: {
    readonly place: string
    readonly register: TableProofs | 'kept'
    readonly moved: MovedAccounts
  },
): void {
  if (register !== 'kept') showProofs(report, 'register', register)
  showProofs(report, 'accounts', moved.tables)
  report.say(
    `Both sides are equal and audited, with ${moved.changedRows} rows that changed meanwhile. Calls were refused for ${moved.frozenMs} ms so far.`,
  )
  report.say(
    `The accounts are in ${place} now: stop the old process, and start with SEXTON_DATABASE_URL and the same SEXTON_DATA.`,
  )
  report.done({
    moved: true,
    to: place,
    earlier: false,
    frozenMs: moved.frozenMs,
    changedRows: moved.changedRows,
    register: register === 'kept' ? null : Object.fromEntries(register),
    accounts: Object.fromEntries(moved.tables),
  })
}

/** Host, port and database as the driver reads them, as no two places may share a name; never the password. */
export function placeOf(url: string): string {
  const { hostname, port, pathname, searchParams, username } = new URL(url)
  const host = searchParams.get('host') ?? hostname
  // Without a name, the database is that of the user.
  const database =
    pathname.length > 1 ? pathname : `/${username || (searchParams.get('user') ?? '')}`
  return `${host}:${port === '' ? '5432' : port}${database}`
}
