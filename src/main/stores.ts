import { join } from 'node:path'
import type { Engine, Migration } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import type { Settings, StoreSetting } from './settings.ts'

export interface Stores {
  /** What the chains say; can be built again from them. */
  readonly register: Engine
  /** Keys, usage, prepayments, the ledger; never to be lost. */
  readonly accounts: Engine
  close(): Promise<void>
}

/** Opens both stores and brings their tables up to date; throws StoreError and leaves nothing open. */
export async function openStores(
  settings: Pick<Settings, 'dataFolder' | 'register' | 'accounts'>,
  migrations: { readonly register: readonly Migration[]; readonly accounts: readonly Migration[] },
): Promise<Stores> {
  const register = openStore(settings.dataFolder, 'register', settings.register)
  const accounts = openStore(settings.dataFolder, 'accounts', settings.accounts)
  const close = async () => {
    await Promise.all([register.close(), accounts.close()])
  }
  try {
    await register.migrate(migrations.register)
    await accounts.migrate(migrations.accounts)
  } catch (error) {
    await close()
    throw error
  }
  return { register, accounts, close }
}

/** Opens one store. The accounts survive power loss; the register is only as durable as it needs to be. */
export function openStore(
  folder: string,
  name: 'register' | 'accounts',
  setting: StoreSetting,
): Engine {
  if (setting.kind === 'postgres') return openPostgres({ url: setting.url, schema: name })
  return openSqlite({
    file: join(folder, `${name}.sqlite`),
    durability: name === 'accounts' ? 'full' : 'normal',
  })
}
