import { join } from 'node:path'
import { accessMigrations } from '#access/access-migrations.ts'
import { registerMigrations } from '#datasets/datasets.ts'
import { ledgerMigrations } from '#ledger/ledger-migrations.ts'
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

/** The schema of the accounts. */
export const accountsMigrations: readonly Migration[] = [...ledgerMigrations, ...accessMigrations]

/** Opens both stores with their tables up to date; throws StoreError and leaves nothing open. */
export async function openStores(
  settings: Pick<Settings, 'dataFolder' | 'register' | 'accounts'>,
): Promise<Stores> {
  const register = await openRegister(settings)
  try {
    const accounts = await openAccounts(settings)
    const close = async () => {
      await Promise.all([register.close(), accounts.close()])
    }
    return { register, accounts, close }
  } catch (error) {
    await register.close()
    throw error
  }
}

/** Opens the register alone, as the index role does. */
export function openRegister(settings: Pick<Settings, 'dataFolder' | 'register'>): Promise<Engine> {
  const { dataFolder, register } = settings
  return openMigrated({ dataFolder, store: register, name: 'register' }, registerMigrations)
}

/** Opens the accounts alone. */
export function openAccounts(settings: Pick<Settings, 'dataFolder' | 'accounts'>): Promise<Engine> {
  const { dataFolder, accounts } = settings
  return openMigrated({ dataFolder, store: accounts, name: 'accounts' }, accountsMigrations)
}

interface Place {
  readonly dataFolder: string
  readonly store: StoreSetting
  readonly name: 'register' | 'accounts'
}

async function openMigrated(place: Place, migrations: readonly Migration[]): Promise<Engine> {
  const engine = open(place)
  try {
    await engine.migrate(migrations)
    return engine
  } catch (error) {
    await engine.close()
    throw error
  }
}

/** The accounts survive power loss; the register is only as durable as it needs to be. */
function open({ dataFolder, store, name }: Place): Engine {
  if (store.kind === 'postgres') return openPostgres({ url: store.url, schema: name })
  return openSqlite({
    file: join(dataFolder, `${name}.sqlite`),
    durability: name === 'accounts' ? 'full' : 'normal',
  })
}
