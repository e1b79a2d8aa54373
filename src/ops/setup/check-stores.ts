import { existsSync } from 'node:fs'
import { countNoun } from '#base/text.ts'
import type { Config } from '#config.ts'
import { registerName } from '#data/datasets.ts'
import { StoreError } from '#db/engine.ts'
import { column, type Row, sql } from '#db/sql.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { Problem } from '#ecosystem/problem.ts'
import { storeFile } from '#main/registers.ts'
import { openStore } from '#main/stores.ts'

/** Config of PostgreSQL under which acknowledged debits can be lost. */
const REFUSED = [
  { name: 'synchronous_commit', values: ['off', 'local'], why: 'a debit must outlive a crash' },
  { name: 'fsync', values: ['off'], why: 'a power loss would lose debits' },
  { name: 'full_page_writes', values: ['off'], why: 'a power loss could damage tables' },
  { name: 'transaction_read_only', values: ['on'], why: 'this is a standby; name the primary' },
]

const FIELD = 'SEXTON_DATABASE_URL'

/** Asks PostgreSQL whether it can be reached, and keeps what it acknowledges. */
export async function checkDatabase({
  database,
}: Pick<Config, 'database'>): Promise<readonly Problem[]> {
  if (database.kind === 'sqlite') return []
  const engine = await openStore('', 'accounts', database)
  try {
    const rows = await engine.read(sql`select name, setting from pg_settings`)
    const values = new Map(rows.map((row) => [row.name, String(row.setting)]))
    return REFUSED.flatMap(({ name, values: refused, why }) => {
      const value = values.get(name) ?? ''
      return refused.includes(value)
        ? [{ field: FIELD, message: `${name} is ${value}: ${why}` }]
        : []
    })
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return [{ field: FIELD, message: error.message }]
  } finally {
    await engine.close()
  }
}

/** Says that the file has no register yet, and how long building one takes; undefined if it has. */
export async function checkRegister(
  config: Pick<Config, 'dataFolder' | 'database'>,
  ecosystem: Ecosystem,
): Promise<string | undefined> {
  const built = await builtRegisters(config)
  const name = registerName(ecosystem)
  const isThere =
    config.database.kind === 'postgres' || existsSync(storeFile(config.dataFolder, name))
  if (isThere && built.some((row) => row.name === name)) return undefined
  const [last] = built
  const took =
    last && countNoun(Math.max(1, Math.round(column.integer(last, 'seconds') / 60)), 'minute')
  const known = took === undefined ? '' : `; the last one took ${took}`
  return `no register is built from this file: run "sexton build" while the service runs, then restart it${known}. A start without it answers \`syncing\` until all is read`
}

/** Newest first; none where there are no accounts yet. */
async function builtRegisters({
  dataFolder,
  database,
}: Pick<Config, 'dataFolder' | 'database'>): Promise<readonly Row[]> {
  if (database.kind === 'sqlite' && !existsSync(storeFile(dataFolder, 'accounts'))) return []
  const accounts = await openStore(dataFolder, 'accounts', database)
  try {
    return await accounts.read(sql`
      select name, whole_unix - made_unix as seconds from registers
      where whole_unix is not null order by made_unix desc`)
  } catch (error) {
    // Accounts that were never used have no tables.
    if (!(error instanceof StoreError)) throw error
    return []
  } finally {
    await accounts.close()
  }
}
