import { storeChecks } from '#audit/audit-accounts.ts'
import { registerMigrations } from '#datasets/datasets.ts'
import type { Check } from '#ledger/check.ts'
import { accountsMigrations } from '#main/stores.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { buildSchema } from '#store/sqlite/built-schema.ts'
import type { MovedTable } from '#store/sqlite/moving-file.ts'
import { type CopiedTables, columnsOf } from './copy-tables.ts'

/** In foreign-key order. Leases belong to processes, not to the accounts. */
export const ACCOUNT_TABLES = [
  'wallets',
  'keys',
  'used_messages',
  'usage_days',
  'key_days',
  'meters',
  'claims',
  'claim_proofs',
  'credits',
  'x402_intents',
  'x402_replaced',
  'x402_settlers',
  'x402_sign_ins',
  'x402_collected',
  'balances',
  'postings',
  'journal_entries',
  'grants',
  'spend_days',
  'store_copies',
  'webhooks',
] as const

export const copiedAccounts: CopiedTables = {
  tables: ACCOUNT_TABLES,
  migrations: accountsMigrations,
}

/** Leases are frozen with the rest, but not moved. */
export function movedTables(): readonly MovedTable[] {
  const columns = columnsOf(accountsMigrations)
  return [...ACCOUNT_TABLES, 'leases'].map((table) => ({
    table,
    key:
      table === 'leases'
        ? []
        : (columns.get(table) ?? []).filter(({ isKey }) => isKey).map(({ name }) => name),
  }))
}

export function copiedRegister(): CopiedTables {
  const tables = [...buildSchema(registerMigrations).columns.keys()]
  return {
    tables: tables.filter((table) => table !== 'leases'),
    migrations: registerMigrations,
  }
}

/** An audit can find thousands. */
const SHOWN_MAX = 5

export function firstFew(differences: readonly string[]): string {
  const more = differences.length - SHOWN_MAX
  const shown = differences.slice(0, SHOWN_MAX).join('; ')
  return more > 0 ? `${shown}; and ${more} more` : shown
}

/** What an audit of the accounts finds, in words; empty if all agrees. */
export async function differencesIn(
  connection: Connection,
  dialect: Engine['dialect'],
  checks: readonly Check[] = storeChecks(dialect),
): Promise<readonly string[]> {
  const lines: string[] = []
  for (const check of checks)
    for (const { subject, detail } of await check.run(connection))
      lines.push(`${check.name}: ${subject}: ${detail}`)
  return lines
}
