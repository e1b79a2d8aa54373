import {
  type Check,
  type LedgerDifference,
  ledgerChecks,
  queryCheck,
} from '#accounts/ledger/check.ts'
import { callerChecks } from '#accounts/metering/caller-checks.ts'
import { formatDecimal } from '#base/money.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { balanceCheck, moneyChecks, readSuspense, x402Checks } from '#payments/money-checks.ts'
import { readReceivables } from '#payments/prepayments/credit.ts'

interface AccountsAudit {
  /** Waits, so that a running service can finish what it has begun. */
  pause(): Promise<void>
  note(line: string): void
}

/**
 * Returns every difference in words. The stores share no snapshot (a reorg's reversal comes with the next poll), so
 * only subjects that differ twice count.
 */
export async function auditAccounts(
  ctx: Context,
  { pause, note }: AccountsAudit,
): Promise<readonly string[]> {
  const found = await auditOnce(ctx, note)
  if (found.length === 0) return []
  await pause()
  const before = new Set(found.map(nameDifference))
  const again = await auditOnce(ctx, () => undefined)
  return again
    .filter((each) => before.has(nameDifference(each)))
    .map((each) => `${nameDifference(each)}: ${each.detail}`)
}

interface Found extends LedgerDifference {
  readonly check: string
}

function nameDifference({ check, subject }: Found): string {
  return `${check}: ${subject}`
}

async function auditOnce(ctx: Context, note: AccountsAudit['note']): Promise<readonly Found[]> {
  const checks = [...rowChecks, ...moneyChecks(ctx, note), balanceCheck(ctx, note)]
  const differences: Found[] = []
  const run = async (check: Check, connection: Connection) => {
    const list = await check.run(connection)
    if (list.length === 0) note(check.name)
    for (const each of list) differences.push({ check: check.name, ...each })
  }
  await ctx.accounts.snapshot(async (connection) => {
    for (const check of checks) await run(check, connection)
  })
  await ctx.accounts.snapshot((connection) => noteOpenMoney(ctx, connection, note))
  return differences
}

/** Notes unclaimed deposits and debts, which are not errors. */
async function noteOpenMoney(
  ctx: Context,
  connection: Connection,
  note: AccountsAudit['note'],
): Promise<void> {
  const show = (amount: bigint) =>
    `${formatDecimal(amount, 6)} ${ctx.ecosystem.payment?.symbol ?? 'USD'}`
  const suspense = await readSuspense(ctx, connection)
  note(`unclaimed deposits: ${suspense.deposits}, ${show(suspense.microUsd)} in all`)
  for (const { wallet, microUsd } of await readReceivables(connection))
    note(`${wallet} owes ${show(microUsd)} after a reorg`)
}

/** Balances move only within a wallet, by rotation or signed message. */
const BETWEEN_KEYS = sql`source.wallet = target.wallet and case
  when entries.id like 'move:rotate:%'
    then entries.id = 'move:rotate:' || target.public_id and source.successor = target.public_id
  else entries.id like 'move:%' and exists (
    select 1 from used_messages where used_messages.digest = substr(entries.id, 6)
      and used_messages.action = 'move-balance' and used_messages.wallet = source.wallet) end`

/** Checks movements that are neither deposits nor spending. */
export const moveChecks: readonly Check[] = [
  queryCheck(
    'money moves within one wallet only, by a rotation or a signed message',
    sql`select entries.id as subject, 'a known cause within one wallet' as expected,
        entries.kind || ' of ' || coalesce(taken.account, 'nobody') || ' to '
          || coalesce(given.account, 'nobody') as found
      from journal_entries as entries
        left join postings as taken on taken.entry_id = entries.id and taken.line = 0
        left join postings as given on given.entry_id = entries.id and given.line = 1
        left join keys as source
          on taken.account like 'key:%' and source.public_id = substr(taken.account, 5)
        left join keys as target
          on given.account like 'key:%' and target.public_id = substr(given.account, 5)
      where entries.kind not in ('credit', 'reversal') and not (
        entries.kind = 'move' and coalesce(taken.micro_usd < 0, 1 = 0)
        and not exists (
          select 1 from postings where postings.entry_id = entries.id and postings.line > 1)
        and coalesce(${BETWEEN_KEYS}, 1 = 0))`,
  ),
]

export const rowChecks: readonly Check[] = [
  ...ledgerChecks,
  ...callerChecks,
  ...x402Checks,
  ...moveChecks,
]
