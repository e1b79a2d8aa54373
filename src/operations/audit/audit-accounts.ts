import { verifyPayerProof } from '#accounts/keys/message.ts'
import type { Check, LedgerDifference } from '#accounts/ledger/check.ts'
import { ledgerChecks } from '#accounts/ledger/ledger-checks.ts'
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
import { depositCheck } from '#money/x402/deposit-check.ts'
import { x402Checks } from '#money/x402/x402-checks.ts'
import { webhooksChecks } from '#serving/webhooks/webhook-tables.ts'
import { dialectOf } from '#store/dialects.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { moveChecks } from './audit-moves.ts'
import { guardSettingChecks, schemaCheck } from './audit-schema.ts'
import { secretCheck } from './audit-secrets.ts'

export interface AccountsAuditDeps {
  readonly ecosystem: Ecosystem
  readonly stores: Pick<Stores, 'register' | 'accounts'>
  readonly clock: Clock
  /** Lets a running service finish what it has begun. */
  pause(): Promise<void>
  note(line: string): void
}

export function rowChecks(dialect: Engine['dialect']): readonly Check[] {
  return [
    ...ledgerChecks,
    ...callerChecks,
    ...x402Checks,
    ...webhooksChecks,
    ...moveChecks,
    secretCheck(dialect),
    ...guardSettingChecks(dialect),
  ]
}

export function accountsChecks(deps: {
  readonly dialect: Engine['dialect']
  readonly deposits: DepositIndex
  readonly chainId: number | null
  readonly blockHash: BlockHashAt
  readonly ecosystem: Ecosystem
  readonly clock: Clock
  note(line: string): void
}): readonly Check[] {
  const { dialect } = deps
  return [
    ...rowChecks(dialect),
    ...paymentsChecks({
      ...deps,
      verifyPayerProof: (proof) => verifyPayerProof(deps, proof),
    }),
    depositCheck(deps),
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
  const { dialect } = accounts
  const reads = { register, ecosystem: deps.ecosystem }
  const deposits: DepositIndex = {
    canonical: (query) => readDeposits(reads, query),
  }
  const checks = accountsChecks({
    ...deps,
    dialect,
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
  const onSchema = (connection: Connection) => run(schemaCheck(dialect), connection)
  await dialectOf(accounts).inScratch(accounts, onSchema)
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
