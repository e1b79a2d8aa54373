import { existsSync, readdirSync } from 'node:fs'
import type { Engine } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import type { ExitCode, RoleContext } from '../role-context.ts'
import { SettingsError } from '../settings-error.ts'
import { storeFile } from '../store-file.ts'
import { migrateStore, openStore } from '../stores.ts'
import { CarryOverError, carryOver } from './carry-over.ts'

/** Fills the accounts store that the settings name with those of 0.1.0; 1 when it does not. */
export async function runCarryOver(
  { settings, say }: Pick<RoleContext, 'settings' | 'say'>,
  from: string,
): Promise<ExitCode> {
  const isUrl = /^postgres(ql)?:/.test(from)
  refuseWaitingRefunds(isUrl ? settings.dataFolder : from)
  const source = isUrl ? openPostgres({ url: from, schema: 'accounts' }) : openFolder(from)
  try {
    const target = await openStore(settings.dataFolder, 'accounts', settings.accounts)
    try {
      await migrateStore(target, 'accounts')
      const counts = await carryOver({ source, target })
      for (const [table, count] of counts) say(`${count} rows of ${table}`)
      say('Carried over and audited. The register is built at the next start.')
      return 0
    } finally {
      await target.close()
    }
  } catch (error) {
    if (!(error instanceof CarryOverError)) throw error
    say(`Nothing was carried over: ${error.message}`)
    return 1
  } finally {
    await source.close()
  }
}

function openFolder(folder: string): Engine {
  const file = storeFile(folder, 'accounts')
  if (!existsSync(file)) throw new SettingsError(`--from: no such file: ${file}`)
  return openSqlite({ file, durability: 'full' })
}

/** Refunds that wait for their store are in no table. */
function refuseWaitingRefunds(folder: string): void {
  const waiting =
    existsSync(folder) && readdirSync(folder).some((each) => each.endsWith('.journal'))
  if (waiting)
    throw new SettingsError(
      `${folder} holds refunds that wait (refunds-*.journal): start 0.1.0 until they are gone`,
    )
}
