import type { Problem } from '#chains/ecosystem/problem.ts'
import type { Config } from '#config.ts'
import { openStore } from '#main/stores.ts'
import { StoreError } from '#store/engine.ts'
import { sql } from '#store/sql.ts'

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
