import { verifyPayerProof } from '#accounts/keys/message.ts'
import {
  type Check,
  DIFFERENCES_MAX,
  type LedgerDifference,
  ledgerChecks,
  queryCheck,
} from '#accounts/ledger/check.ts'
import { callerChecks } from '#accounts/metering/caller-checks.ts'
import { readDeposits } from '#chains/datasets/deposits/queries.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { formatDecimal } from '#domain/money.ts'
import type { Clock } from '#lib/time.ts'
import { blockHashes } from '#main/start/block-hashes.ts'
import type { Stores } from '#main/stores.ts'
import { readReceivables } from '#money/payments/credit.ts'
import type { BlockHashAt, DepositIndex } from '#money/payments/deposit.ts'
import { paymentsChecks } from '#money/payments/payments-checks.ts'
import { readSuspense } from '#money/payments/suspense.ts'
import { openSettlingRpc } from '#money/x402/settling-rpc.ts'
import { depositCheck, x402Checks } from '#money/x402/x402-checks.ts'
import type { Connection } from '#store/engine.ts'
import { sql } from '#store/sql.ts'

interface AccountsAuditDeps {
  readonly ecosystem: Ecosystem
  readonly stores: Pick<Stores, 'register' | 'accounts'>
  readonly clock: Clock
  /** Lets a running service finish what it has begun. */
  pause(): Promise<void>
  note(line: string): void
}

export function accountsChecks(deps: {
  readonly deposits: DepositIndex
  readonly chainId: number | null
  readonly blockHash: BlockHashAt
  readonly ecosystem: Ecosystem
  readonly clock: Clock
  note(line: string): void
}): readonly Check[] {
  const { payment } = deps.ecosystem
  return [
    ...rowChecks,
    ...paymentsChecks({
      ...deps,
      verifyPayerProof: (proof) => verifyPayerProof(deps, proof),
    }),
    ...(payment === null
      ? []
      : [depositCheck({ ...deps, payment, rpc: openSettlingRpc(payment.chain) })]),
  ]
}

/**
 * Returns every difference in words. The stores share no snapshot (a reorg's reversal comes with
 * the next pass), so only subjects that differ in two looks count.
 */
export async function auditAccounts(deps: AccountsAuditDeps): Promise<readonly string[]> {
  const found = await auditOnce(deps)
  if (found.length === 0) return []
  await deps.pause()
  const before = new Set(found.map(nameOf))
  const again = await auditOnce({ ...deps, note: () => undefined })
  return again
    .filter((each) => before.has(nameOf(each)))
    .map((each) => `${nameOf(each)}: ${each.detail}`)
}

interface Found extends LedgerDifference {
  readonly check: string
}

function nameOf({ check, subject }: Found): string {
  return `${check}: ${subject}`
}

async function auditOnce(deps: AccountsAuditDeps): Promise<readonly Found[]> {
  const { payment } = deps.ecosystem
  const { accounts, register } = deps.stores
  const reads = { register, ecosystem: deps.ecosystem }
  const deposits: DepositIndex = {
    canonical: (query) => readDeposits(reads, query),
  }
  const checks = accountsChecks({
    ...deps,
    deposits,
    chainId: payment?.chain.id ?? null,
    blockHash: payment === null ? async () => undefined : blockHashes(register, payment.chain),
  })
  const differences: Found[] = []
  const run = async (check: Check, connection: Connection) => {
    const list = await check.run(connection)
    if (list.length === 0) deps.note(check.name)
    for (const each of list) differences.push({ check: check.name, ...each })
  }
  await accounts.snapshot(async (connection) => {
    for (const check of checks) await run(check, connection)
  })
  await accounts.snapshot((connection) => noteOpenMoney(deps, connection, deposits))
  return differences
}

/** Notes open money, though nothing differs. */
async function noteOpenMoney(
  { ecosystem: { payment }, note }: AccountsAuditDeps,
  connection: Connection,
  deposits: DepositIndex,
): Promise<void> {
  const show = (amount: bigint) => `${formatDecimal(amount, 6)} ${payment?.symbol ?? 'USD'}`
  const suspense = await readSuspense(connection, deposits)
  note(`unclaimed deposits: ${suspense.deposits}, ${show(suspense.microUsd)} in all`)
  for (const { wallet, microUsd } of await readReceivables(connection))
    note(`${wallet} owes ${show(microUsd)} after a reorg`)
}

/** A move stays within a wallet, by rotation or message. */
const BETWEEN_KEYS = sql`source.wallet = target.wallet and case
  when entries.id like 'move:rotate:%'
    then entries.id = 'move:rotate:' || target.public_id and source.successor = target.public_id
  else entries.id like 'move:%' and exists (
    select 1 from used_messages where used_messages.digest = substr(entries.id, 6)
      and used_messages.action = 'move-balance' and used_messages.wallet = source.wallet) end`

/** Checks movements that are neither deposit nor spending. */
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
        and coalesce(${BETWEEN_KEYS}, 1 = 0))
      order by entries.id limit ${DIFFERENCES_MAX}`,
  ),
]

export const rowChecks: readonly Check[] = [
  ...ledgerChecks,
  ...callerChecks,
  ...x402Checks,
  ...moveChecks,
]
