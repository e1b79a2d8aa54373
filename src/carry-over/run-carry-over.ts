import { existsSync, readdirSync } from 'node:fs'
import type { ExitCode, RoleContext } from '#main/role-context.ts'
import { lockFolder } from '#main/roles/lock-folder.ts'
import { SettingsError } from '#main/settings-error.ts'
import { storeFile } from '#main/store-file.ts'
import { migrateStore, openStore } from '#main/stores.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import { CarryOverError, carryOver } from './carry-over.ts'

export interface Origin {
  readonly from: string
  /** Further data folders that may hold pending refunds. */
  readonly data: readonly string[]
}

type Context = Pick<RoleContext, 'settings' | 'say' | 'clock'>

/** Exit code 1 on failure. */
export async function runCarryOver(context: Context, origin: Origin): Promise<ExitCode> {
  const { settings, say } = context
  try {
    const unlock = isUrl(origin.from) ? () => undefined : await lockOrigin(origin.from)
    try {
      refuseWaitingRefunds(origin, say)
      const target = await openStore(settings.dataFolder, 'accounts', settings.accounts)
      try {
        await migrateStore(target, 'accounts').catch(inWords(TARGET))
        await carryInto(target, context, origin.from)
      } finally {
        await target.close()
      }
    } finally {
      unlock()
    }
    return 0
  } catch (error) {
    if (!(error instanceof CarryOverError)) throw error
    say(`Nothing was carried over: ${error.message}`)
    return 1
  }
}

const TARGET = 'the new accounts store cannot be opened; check SEXTON_DATA and SEXTON_ACCOUNTS_URL'

async function carryInto(target: Engine, { say, clock }: Context, from: string): Promise<void> {
  const source = openSource(from)
  try {
    const counts = await carryOver({ source, target, nowMs: clock() })
    for (const [table, count] of counts) say(`${count} rows of ${table}`)
    say('Carried over and audited. The register is built at the next start.')
  } finally {
    await source.close()
  }
}

function isUrl(from: string): boolean {
  return /^postgres(ql)?:/.test(from)
}

function openSource(from: string): Engine {
  try {
    if (isUrl(from)) return openPostgres({ url: from, schema: 'accounts' })
    return openSqlite({ file: storeFile(from, 'accounts'), durability: 'full' })
  } catch (cause) {
    const place = isUrl(from) ? 'the URL' : storeFile(from, 'accounts')
    throw new CarryOverError(`--from: ${place} cannot be opened; check it`, { cause })
  }
}

/** Takes 0.1.0's own folder lock, so that it cannot start meanwhile. */
async function lockOrigin(folder: string): Promise<() => void> {
  const file = storeFile(folder, 'accounts')
  if (!existsSync(file))
    throw new CarryOverError(`--from: no such file: ${file}; name the data folder of 0.1.0`)
  return await lockFolder(folder).catch((cause) => {
    if (!(cause instanceof SettingsError)) throw cause
    throw new CarryOverError(`--from: a service still runs on ${folder}; stop it`, { cause })
  })
}

/** Pending refunds are in files, not in tables. */
function refuseWaitingRefunds({ from, data }: Origin, say: (line: string) => void): void {
  const folders = isUrl(from) ? data : [from, ...data]
  if (folders.length === 0)
    throw new CarryOverError(
      '--from-data is missing: refunds may be pending in the data folder (SEXTON_DATA) of each 0.1.0 process; list them all',
    )
  for (const folder of folders) {
    if (!existsSync(folder))
      throw new CarryOverError(
        `no such folder: ${folder}; name the data folder of 0.1.0, or make an empty one if it never had any`,
      )
    if (readdirSync(folder).some((each) => each.endsWith('.journal')))
      throw new CarryOverError(
        `${folder} has pending refunds (refunds-*.journal); start 0.1.0 until they are gone`,
      )
  }
  say(`No pending refunds in ${folders.join(', ')}`)
}

function inWords(words: string) {
  return (cause: unknown): never => {
    if (!(cause instanceof StoreError)) throw cause
    throw new CarryOverError(`${words} (${cause.message})`, { cause })
  }
}
