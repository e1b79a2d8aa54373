import { existsSync } from 'node:fs'
import { type Config, ConfigError } from '#config.ts'
import { storeFile } from '#main/store-file.ts'
import { migrateStore, openStore } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'

/** Opens the accounts of an existing installation only: a mistyped folder must not become a new store. */
export async function onAccounts<T>(
  { dataFolder, database }: Pick<Config, 'dataFolder' | 'database'>,
  work: (accounts: Engine) => Promise<T>,
): Promise<T> {
  const file = storeFile(dataFolder, 'accounts')
  if (database.kind === 'sqlite' && !existsSync(file))
    throw new ConfigError(
      `no such file: ${file}; name the folder with --data, or set SEXTON_DATABASE_URL`,
    )
  const accounts = await openStore(dataFolder, 'accounts', database)
  try {
    await migrateStore(accounts, 'accounts')
    return await work(accounts)
  } finally {
    await accounts.close()
  }
}
