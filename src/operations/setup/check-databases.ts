import type { Problem } from '#chains/ecosystem/problem.ts'
import type { Settings } from '#main/settings.ts'
import { openStore } from '#main/stores.ts'
import { StoreError } from '#store/engine.ts'
import { sql } from '#store/sql.ts'

/** Settings of PostgreSQL under which acknowledged debits can be lost. */
const REFUSED = [
  { name: 'synchronous_commit', values: ['off', 'local'], why: 'a debit must outlive a crash' },
  { name: 'fsync', values: ['off'], why: 'a power loss would lose debits' },
  { name: 'full_page_writes', values: ['off'], why: 'a power loss could damage tables' },
  { name: 'transaction_read_only', values: ['on'], why: 'this is a standby; name the primary' },
]

/** Asks PostgreSQL whether it can be reached, and keeps what it acknowledges. */
export async function checkDatabases(
  settings: Pick<Settings, 'register' | 'accounts'>,
): Promise<readonly Problem[]> {
  const problems: Problem[] = []
  for (const name of ['register', 'accounts'] as const) {
    const store = settings[name]
    if (store.kind === 'sqlite') continue
    const engine = await openStore('', name, store)
    try {
      const rows = await engine.read(sql`select name, setting from pg_settings`)
      const values = new Map(rows.map((row) => [row.name, String(row.setting)]))
      for (const { name: setting, values: refused, why } of REFUSED)
        if (refused.includes(values.get(setting) ?? ''))
          problems.push({
            field: `${name} database`,
            message: `${setting} is ${values.get(setting)}: ${why}`,
          })
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      problems.push({ field: `${name} database`, message: error.message })
    } finally {
      await engine.close()
    }
  }
  return problems
}
