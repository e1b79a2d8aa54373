import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { lockSuccessor, publicIdsOf } from '#access/keys/key-store.ts'
import { createUsagePruning } from '#access/usage/prune-usage.ts'
import { readDeposits } from '#datasets/deposits/queries.ts'
import { filePartsOf } from '#datasets/file-parts.ts'
import type { Ecosystem, Payment } from '#ecosystem/ecosystem.ts'
import { readIndexStatus } from '#indexer/status.ts'
import { closeSpendDays } from '#ledger/close-spend-days.ts'
import { sleep } from '#lib/sleep.ts'
import type { Clock } from '#lib/time.ts'
import type { DepositIndex } from '#payments/deposit.ts'
import { Verifier } from '#payments/verifier.ts'
import { settlesIntent } from '#x402/settling/intent-store.ts'
import { pruneIntents } from '#x402/settling/prune-intents.ts'
import { shareOf } from '#x402/sign-in/bucket-shares.ts'
import type { Settings } from '../settings.ts'
import type { Stores } from '../stores.ts'
import { blockHashes } from './block-hashes.ts'

export interface VerifyRole {
  readonly ecosystem: Ecosystem
  readonly stores: Pick<Stores, 'register' | 'accounts'>
  readonly clock: Clock
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly settings: Pick<Settings, 'settling' | 'signingKeys' | 'webhookPrivate'>
  /** Wakes requests of this process that wait for a prepayment. */
  onChange(claimId: string): void
  /** After each round, whether this process leads; where nothing is paid, each does. */
  onRound?(leads: boolean): void
}

/** Credits a deposit well within a minute. */
const PASS_EVERY_MS = 1_000

/** Days may close a minute late. */
const TIDY_EVERY_MS = 60_000

/** Credits prepayments, sends webhooks, closes days and prunes until the signal aborts. */
export async function runVerifyRole(role: VerifyRole, signal: AbortSignal): Promise<void> {
  await Promise.all([runRounds(role, signal), sendToWebhooks(role, signal)])
}

async function runRounds(role: VerifyRole, signal: AbortSignal): Promise<void> {
  const { ecosystem, stores, clock, logger } = role
  const { payment } = ecosystem
  const verifying = payment === null ? undefined : await openVerifying(role, payment)
  const { accounts: engine } = stores
  const headUnix = () => readHeadUnix(role)
  const forgetUsage = createUsagePruning({ engine, clock, headUnix })
  const always = verifying?.parts ?? []
  const tidying: readonly PartialWork[] = [
    { name: 'closing days', run: async () => void (await closeSpendDays({ engine, clock })) },
    { name: 'deleting old usage', run: forgetUsage },
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
      await runAll(isTidying ? [...always, ...tidying] : always)
    } catch (error) {
      logger.error({ err: error }, 'a verifier step failed; retrying in the next round')
    }
    role.onRound?.(verifying?.leads() ?? true)
    await sleep(PASS_EVERY_MS, signal)
  }
  await verifying?.stop()
}

/** Beside the rounds, which may be slow. Lazy: only a service that signs needs it. */
async function sendToWebhooks(role: VerifyRole, signal: AbortSignal): Promise<void> {
  const { signingKeys } = role.settings
  if (signingKeys === undefined) return
  const { runWebhookRole } = await import('./webhook-role.ts')
  await runWebhookRole({ ...role, signingKeys }, signal)
}

async function readHeadUnix({ ecosystem, stores }: VerifyRole): Promise<number | undefined> {
  const status = await stores.register.snapshot((reads) => readIndexStatus(reads, ecosystem.chains))
  return status?.asOfUnix
}

async function openVerifying(
  role: VerifyRole,
  payment: Payment,
): Promise<{ readonly parts: readonly PartialWork[]; leads(): boolean; stop(): Promise<void> }> {
  const { ecosystem, stores, clock, logger } = role
  const reads = { register: stores.register, payment, file: filePartsOf(ecosystem) }
  const deposits: DepositIndex = { canonical: (query) => readDeposits(reads, query) }
  const verifier = new Verifier({
    engine: stores.accounts,
    clock,
    newId: randomUUID,
    deposits,
    chainId: payment.chain.id,
    blockHash: blockHashes(reads, clock),
    keys: { lockSuccessor, keysOf: publicIdsOf },
    shareOf,
    isReserved: (connection, txHash) => settlesIntent(connection, txHash),
    confirmations: payment.confirmations,
    holder: randomUUID(),
    onChange: role.onChange,
  })
  const pass = async () => {
    const outcome = await verifier.pass()
    if (outcome.kind === 'done' && outcome.credited + outcome.reversed > 0)
      logger.info({ ...outcome }, 'prepayments were settled')
  }
  const finish =
    role.settings.settling !== undefined ? await openFinisher(role, payment) : undefined
  return {
    parts: [
      { name: 'a pass over the prepayments', run: pass },
      ...(finish === undefined ? [] : [{ name: 'finishing x402 payments', run: finish }]),
    ],
    leads: () => verifier.leads,
    stop: () => verifier.stop(),
  }
}

/** Finishes payments left open by requests. Lazy: only settling needs it. */
async function openFinisher(role: VerifyRole, payment: Payment): Promise<() => Promise<void>> {
  const { stores, clock, logger } = role
  const [{ finishPayments }, { openSettlingRpc }] = await Promise.all([
    import('#x402/settling/finish-payments.ts'),
    import('#x402/settling/settling-rpc.ts'),
  ])
  const deps = {
    engine: stores.accounts,
    clock,
    newId: randomUUID,
    rpc: openSettlingRpc(payment.chain),
    payment,
    keys: { lockSuccessor, keysOf: publicIdsOf },
    report: (err: unknown) => logger.error({ err }, 'a payment is not finished yet'),
  }
  return async () => {
    const credited = await finishPayments(deps)
    if (credited > 0) logger.info({ credited }, 'x402 payments were finished')
  }
}

interface PartialWork {
  readonly name: string
  run(): Promise<void>
}

/** Runs every part even after failures, then throws all of them. */
async function runAll(parts: readonly PartialWork[]): Promise<void> {
  const failures: Error[] = []
  for (const { name, run } of parts)
    try {
      await run()
    } catch (cause) {
      failures.push(new Error(`${name} failed`, { cause }))
    }
  if (failures.length > 0)
    throw new AggregateError(failures, failures.map(({ message }) => message).join(', '))
}
