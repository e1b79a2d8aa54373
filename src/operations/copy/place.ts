import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Settings, StoreSetting } from '#main/settings.ts'
import { SettingsError } from '#main/settings-error.ts'
import { storeFile } from '#main/store-file.ts'
import { openStore } from '#main/stores.ts'
import type { Connection, Migration } from '#store/engine.ts'
import { aloneOnPostgres, COPIER, snapshotOfPostgres } from '#store/postgres/alone-on-postgres.ts'
import { aloneOnSqlite } from '#store/sqlite/alone-on-sqlite.ts'
import type { StoreState } from '#store/stream-table.ts'

/** One file with the accounts as they were at one moment. */
export interface BackupFile {
  readonly kind: 'file'
  readonly file: string
}

/** A data folder or a database, to be served. */
export interface StoresPlace {
  readonly kind: 'stores'
  /** Shows no password. */
  readonly name: string
  readonly dataFolder: string
  readonly register: StoreSetting
  readonly accounts: StoreSetting
}

export type Place = BackupFile | StoresPlace

/** What `--from`, `--to` or `--old` names: a URL, a file that exists or ends in .sqlite, or a folder. */
export function placeOf(text: string): Place {
  if (text.includes('://')) {
    const store = { kind: 'postgres', url: text } as const
    return storesIn({ dataFolder: '', register: store, accounts: store })
  }
  const found = existsSync(text) ? statSync(text) : undefined
  if (found?.isDirectory() !== true && (found !== undefined || text.endsWith('.sqlite')))
    return { kind: 'file', file: resolve(text) }
  const store = { kind: 'sqlite' } as const
  return storesIn({ dataFolder: resolve(text), register: store, accounts: store })
}

/** The stores of an installation. */
export function storesIn({
  dataFolder,
  register,
  accounts,
}: Pick<Settings, 'dataFolder' | 'register' | 'accounts'>): StoresPlace {
  const name = accounts.kind === 'postgres' ? databaseOf(accounts.url) : resolve(dataFolder)
  return {
    ...{ kind: 'stores', name, dataFolder },
    register: asCopier(register),
    accounts: asCopier(accounts),
  }
}

function asCopier(store: StoreSetting): StoreSetting {
  return store.kind === 'sqlite' ? store : { ...store, applicationName: COPIER }
}

/** Host, port and database as the driver reads them, as no two places may share a name; never the password. */
export function databaseOf(url: string): string {
  const { hostname, port, pathname, searchParams, username } = new URL(url)
  const host = searchParams.get('host') ?? hostname
  // Without a name, the database is that of the user.
  const database =
    pathname.length > 1 ? pathname : `/${username || (searchParams.get('user') ?? '')}`
  return `${host}:${port === '' ? '5432' : port}${database}`
}

/** One state of the accounts while they are served, without migrating what an older version may be using. */
export async function snapshotOf<T>(
  place: StoresPlace,
  work: (state: StoreState) => Promise<T>,
): Promise<T> {
  const { accounts: setting, dataFolder } = place
  const within = (connection: Connection) => work({ connection, dialect: setting.kind })
  if (setting.kind === 'postgres')
    return snapshotOfPostgres({ url: setting.url, schema: 'accounts' }, within)
  requireAccounts(place)
  const accounts = await openStore(dataFolder, 'accounts', setting)
  return accounts.snapshot(within).finally(() => accounts.close())
}

/** A mistyped folder must not become a new store. */
export function requireAccounts({ dataFolder, accounts }: StoresPlace): void {
  const file = storeFile(dataFolder, 'accounts')
  if (accounts.kind === 'sqlite' && !existsSync(file))
    throw new SettingsError(`no such file: ${file}; name the folder of the accounts`)
}

/** Runs one transaction in a store that no process serves, after the given migrations. Throws InUseError. */
export function aloneIn<T>(
  place: StoresPlace,
  name: 'register' | 'accounts',
  work: (state: StoreState) => Promise<T>,
  migrations: readonly Migration[] = [],
): Promise<T> {
  const setting = place[name]
  const within = (connection: Connection) => work({ connection, dialect: setting.kind })
  return setting.kind === 'postgres'
    ? aloneOnPostgres({ url: setting.url, schema: name }, within, migrations)
    : aloneOnSqlite(storeFile(place.dataFolder, name), within, migrations)
}
