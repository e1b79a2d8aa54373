import { existsSync, readdirSync } from 'node:fs'
import { callerTables } from '#accounts/keys/caller-tables.ts'
import { revokeAgain } from '#accounts/keys/revoked-keys.ts'
import { recordRestore } from '#accounts/ledger/ledger.ts'
import { ledgerTables } from '#accounts/ledger/ledger-tables.ts'
import { unixNow } from '#base/time.ts'
import { type Config, ConfigError, type StoreSetting } from '#config.ts'
import type { Context } from '#context.ts'
import { registerMigrations, registerName } from '#data/datasets.ts'
import { type Engine, StoreError } from '#db/engine.ts'
import { firstSchema } from '#db/migrate.ts'
import { openPostgres } from '#db/postgres/open-postgres.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { webhookTables } from '#feed/webhook-store.ts'
import { type StoreName, storeFile } from '#main/registers.ts'
import { paymentsTables } from '#payments/prepayments/payments-tables.ts'
import { x402Tables } from '#payments/x402/payment.ts'
import { registersTables } from './registers.ts'

export interface Stores {
  /** Can be rebuilt from the chains. */
  readonly register: Engine
  /** Must never be lost. */
  readonly accounts: Engine
  /** The accounts, over connections reserved for metering calls. */
  readonly admissions: Engine
  close(): Promise<void>
}

/** The meter commits in one queue, so a stuck lock stalls every data call; normal locks last milliseconds. */
const ACCOUNTS_LOCK_TIMEOUT_MS = 2_000

/** One for the batch, and one to spare if a connection is lost. */
const ADMISSION_CONNECTIONS = 2

export const accountsMigrations = firstSchema('accounts', [
  ...ledgerTables,
  ...callerTables,
  ...paymentsTables,
  ...x402Tables,
  webhookTables,
  registersTables,
])

export async function migrateStore(engine: Engine, name: 'register' | 'accounts'): Promise<void> {
  await engine.migrate(name === 'accounts' ? accountsMigrations : registerMigrations)
}

/** Migrates both stores. Throws StoreError and leaves nothing open. */
export async function openStores(
  config: Pick<Config, 'dataFolder' | 'database' | 'newAccounts'>,
  ecosystem: Ecosystem,
): Promise<Stores> {
  refuseLostAccounts(config)
  const accounts = await openStore(config.dataFolder, 'accounts', config.database)
  const register = await openStore(config.dataFolder, registerName(ecosystem), config.database)
  const admissions = await openAdmissions(config, accounts)
  const close = async () => {
    const open = new Set([register, admissions, accounts])
    await Promise.all([...open].map((each) => each.close()))
  }
  try {
    await migrateStore(accounts, 'accounts')
    await migrateStore(register, 'register')
    return { register, accounts, admissions, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Runs before anything is served: keys revoked since the backup are revoked again, and older messages are refused. */
export async function noteRestore(
  { dataFolder, database }: Pick<Config, 'dataFolder' | 'database'>,
  accounts: Engine,
  nowUnix: number,
): Promise<void> {
  await accounts.write((tx) => recordRestore(tx, nowUnix))
  if (database.kind === 'sqlite') await revokeAgain(dataFolder, accounts, nowUnix)
}

/** Separate connections, so that no other work keeps calls waiting. */
async function openAdmissions(
  { dataFolder, database }: Pick<Config, 'dataFolder' | 'database'>,
  accounts: Engine,
): Promise<Engine> {
  if (database.kind !== 'postgres') return accounts
  const setting = { ...database, connectionsMax: ADMISSION_CONNECTIONS }
  return await openStore(dataFolder, 'accounts', setting)
}

/** A start always creates accounts before a register, so a register without accounts means that they were lost. */
function refuseLostAccounts({
  dataFolder,
  database,
  newAccounts,
}: Pick<Config, 'dataFolder' | 'database' | 'newAccounts'>): void {
  const file = storeFile(dataFolder, 'accounts')
  if (newAccounts || database.kind === 'postgres' || existsSync(file) || !existsSync(dataFolder))
    return
  if (readdirSync(dataFolder).some((name) => name.startsWith('register_')))
    throw new ConfigError(
      `SEXTON_DATA: ${file} is gone, but the register beside it is not: put a backup back as that file, name the right folder, or begin with empty accounts by SEXTON_NEW_ACCOUNTS=yes`,
    )
}

export async function openStore(
  dataFolder: string,
  name: StoreName,
  store: StoreSetting,
): Promise<Engine> {
  if (store.kind === 'postgres') {
    const lockTimeoutMs = name === 'accounts' ? ACCOUNTS_LOCK_TIMEOUT_MS : 0
    const { kind: _, ...options } = store
    return openPostgres({ ...options, schema: name, lockTimeoutMs })
  }
  const file = storeFile(dataFolder, name)
  try {
    return openFile(file, name)
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    throw new StoreError(`${file}: ${cause.message}`, { cause })
  }
}

/** Accounts must survive power loss; the register can be rebuilt. */
function openFile(file: string, name: StoreName): Engine {
  return openSqlite({
    file,
    durability: name === 'accounts' ? 'full' : 'normal',
    bulk: name !== 'accounts',
  })
}

interface OpenContext extends Context {
  close(): Promise<void>
}

/** Opens and migrates the stores. Throws StoreError and leaves nothing open. */
export async function openContext(
  { config, clock, logger }: Pick<Context, 'config' | 'clock' | 'logger'>,
  ecosystem: Ecosystem,
): Promise<OpenContext> {
  const stores = await openStores(config, ecosystem)
  await noteRestore(config, stores.accounts, unixNow(clock))
  return { config, ecosystem, ...stores, clock, logger }
}
