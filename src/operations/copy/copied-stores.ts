import { randomUUID } from 'node:crypto'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import { accountsMigrations } from '#main/stores.ts'
import { rowChecks } from '#operations/audit/audit-accounts.ts'
import { schemaCheck } from '#operations/audit/audit-schema.ts'
import { UpkeepError } from '#operations/upkeep/upkeep-error.ts'
import type { Migration } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { buildSchema } from '#store/sqlite/built-schema.ts'
import type { StoreState } from '#store/stream-table.ts'
import type { CopiedTables } from './copy-tables.ts'

/** Tables stand in foreign-key order. Leases belong to processes, not to the accounts. */
export const ACCOUNT_TABLES = [
  'wallets',
  'keys',
  'granted_quotas',
  'used_messages',
  'usage_days',
  'key_days',
  'claims',
  'claim_proofs',
  'credits',
  'x402_intents',
  'x402_gas',
  'x402_facilitator',
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

/** The tables and columns that accounts of an older version have. */
export function accountsAt(migrations: readonly Migration[]): CopiedTables {
  const { columns } = buildSchema(migrations)
  return { tables: ACCOUNT_TABLES.filter((table) => columns.has(table)), migrations }
}

export function copiedRegister(): CopiedTables {
  const tables = [...buildSchema(registerMigrations).columns.keys()]
  return {
    tables: tables.filter((table) => table !== 'leases'),
    migrations: registerMigrations,
  }
}

/** What an audit of the accounts finds, in words; empty if all agrees. */
export async function differencesIn({
  connection,
  dialect,
}: StoreState): Promise<readonly string[]> {
  const lines: string[] = []
  for (const check of [...rowChecks(dialect), schemaCheck(dialect)])
    for (const { subject, detail } of await check.run(connection))
      lines.push(`${check.name}: ${subject}: ${detail}`)
  return lines
}

/** Returns what differs, where that is allowed. */
export async function requireAudited(
  state: StoreState,
  despiteDifferences: boolean,
): Promise<readonly string[]> {
  const differences = await differencesIn(state)
  if (differences.length > 0 && !despiteDifferences)
    throw new UpkeepError(
      `the accounts fail their audit; use another backup, or copy them with --despite-differences: ${firstFew(differences)}`,
    )
  return differences
}

/** An audit can find thousands. */
const SHOWN_MAX = 5

function firstFew(differences: readonly string[]): string {
  const more = differences.length - SHOWN_MAX
  const shown = differences.slice(0, SHOWN_MAX).join('; ')
  return more > 0 ? `${shown}; and ${more} more` : shown
}

/**
 * Records where the rows came from. A restore refuses signed messages older than its instant, which is therefore read last before the commit, and is no earlier than what the old accounts did.
 */
export async function recordCopy(
  { connection }: StoreState,
  copy: {
    readonly kind: 'move' | 'restore'
    readonly origin: string
    readonly clock: Clock
    readonly usedUnix?: number
  },
): Promise<void> {
  const nowUnix = Math.max(unixNow(copy.clock), copy.usedUnix ?? 0)
  await connection.run(sql`
    insert into store_copies (id, kind, origin, created_unix)
    values (${randomUUID()}, ${copy.kind}, ${copy.origin}, ${nowUnix})`)
}
