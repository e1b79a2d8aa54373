import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { lockHeir, publicIdsOf } from '#access/keys/key-store.ts'
import { createUsagePruning } from '#access/usage/prune-usage.ts'
import { readDeposits } from '#datasets/deposits/queries.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { closeSpendDays } from '#ledger/close-spend-days.ts'
import type { Clock } from '#lib/clock.ts'
import { doEach, type Part } from '#lib/do-each.ts'
import { sleep } from '#lib/sleep.ts'
import type { DepositIndex } from '#payments/deposit.ts'
import { Verifier } from '#payments/verifier.ts'
import { settlesIntent } from '#x402/settling/intent-store.ts'
import { pruneIntents } from '#x402/settling/prune-intents.ts'
import { shareOf } from '#x402/sign-in/bucket-shares.ts'
import type { Stores } from './stores.ts'

export interface VerifyRole {
  readonly ecosystem: Ecosystem
  readonly stores: Pick<Stores, 'register' | 'accounts'>
  readonly clock: Clock
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Whether payments of x402 clients are settled, and so must be finished. */
  readonly settles: boolean
  /** Wakes those who wait for a prepayment in this process. */
  onChange(claimId: string): void
}

/** A deposit is looked at this often, so that it is credited well within a minute. */
const PASS_EVERY_MS = 1_000

/** Days end once a day; closing and forgetting them a minute later is soon enough. */
const TIDY_EVERY_MS = 60_000

/** Credits prepayments, closes finished days and forgets old usage until the signal aborts. */
export async function runVerifyRole(role: VerifyRole, signal: AbortSignal): Promise<void> {
  const { ecosystem, stores, clock, logger } = role
  const deposits: DepositIndex = {
    canonical: (query) =>
      readDeposits({ register: stores.register, payment: ecosystem.payment }, query),
  }
  const headUnix = async () => (await deposits.canonical({ txHashes: [] }))?.head.timestamp
  const verifier = new Verifier({
    engine: stores.accounts,
    clock,
    newId: randomUUID,
    deposits,
    keys: { lockHeir, keysOf: publicIdsOf },
    shareOf,
    isReserved: (connection, txHash) => settlesIntent(connection, txHash),
    confirmations: ecosystem.payment.confirmations,
    holder: randomUUID(),
    onChange: role.onChange,
  })
  const finish = role.settles ? await openFinisher(role) : undefined
  const pass = async () => {
    const outcome = await verifier.pass()
    if (outcome.kind === 'done' && outcome.credited + outcome.reversed > 0)
      logger.info({ ...outcome }, 'prepayments were settled')
  }
  const { accounts: engine } = stores
  const forgetUsage = createUsagePruning({ engine, clock, headUnix })
  const always: readonly Part[] = [
    { name: 'a pass over the prepayments', run: pass },
    ...(finish === undefined ? [] : [{ name: 'finishing x402 payments', run: finish }]),
  ]
  const tidying: readonly Part[] = [
    { name: 'closing days', run: async () => void (await closeSpendDays({ engine, clock })) },
    { name: 'forgetting usage', run: forgetUsage },
    {
      name: 'forgetting x402 payments',
      run: async () => void (await pruneIntents({ engine, clock })),
    },
  ]
  let tidiedAtMs = Number.NEGATIVE_INFINITY
  while (!signal.aborted) {
    const isTidying = Math.abs(clock() - tidiedAtMs) >= TIDY_EVERY_MS
    if (isTidying) tidiedAtMs = clock()
    try {
      await doEach(isTidying ? [...always, ...tidying] : always)
    } catch (error) {
      logger.error({ err: error }, 'a part of verifying failed; the next round tries again')
    }
    await sleep(PASS_EVERY_MS, signal)
  }
  await verifier.stop()
}

/** Finishes payments that requests have left open; loaded by who settles any. */
async function openFinisher(role: VerifyRole): Promise<() => Promise<void>> {
  const { ecosystem, stores, clock, logger } = role
  const [{ finishPayments }, { openSettlingRpc }] = await Promise.all([
    import('#x402/settling/finish-payments.ts'),
    import('#x402/settling/settling-rpc.ts'),
  ])
  const deps = {
    engine: stores.accounts,
    clock,
    newId: randomUUID,
    rpc: openSettlingRpc(ecosystem.payment.chain),
    payment: ecosystem.payment,
    keys: { lockHeir, keysOf: publicIdsOf },
    report: (err: unknown) => logger.error({ err }, 'a payment is not finished yet'),
  }
  return async () => {
    const credited = await finishPayments(deps)
    if (credited > 0) logger.info({ credited }, 'x402 payments were finished')
  }
}
