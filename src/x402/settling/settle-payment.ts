import type { Hash } from '#domain/address.ts'
import { sleep } from '#lib/sleep.ts'
import { unixNow } from '#lib/time.ts'
import { transferCall } from '../offers/authorization.ts'
import type { Availability } from '../offers/availability.ts'
import { hasTimeLeft } from '../offers/match-offer.ts'
import type { PaymentFault, PaymentPayload } from '../offers/payment-payload.ts'
import type { X402Deps } from '../x402-deps.ts'
import { endIntent } from './credit-intent.ts'
import { type Intent, type Payee, UNSIGNED } from './intent.ts'
import { holdsEnough, readSettlement, type Settlement } from './read-settlement.ts'
import { isOver, reconcileIntent } from './reconcile-intent.ts'
import { reserveIntent } from './reserve-intent.ts'
import { NodeRefusal } from './settling-rpc.ts'
import type { SubmitOutcome } from './submit-intent.ts'

export type SettleOutcome =
  | SettledPayment
  | { readonly kind: 'rejected'; readonly reason: PaymentFault }
  | { readonly kind: 'used' }
  /** Outcome unknown. Null: another payment is open or someone else sent it. */
  | { readonly kind: 'pending'; readonly transaction: Hash | null }

/** The chain shows the transfer; it is not credited yet. */
export interface SettledPayment {
  readonly kind: 'settled'
  readonly intent: Intent
  readonly paid: Extract<Settlement, { kind: 'paid' }>
}

export interface SettleDeps extends X402Deps {
  readonly availability: Availability
  readonly submit: (intent: Intent) => Promise<SubmitOutcome>
}

export interface SettleInput {
  readonly payload: PaymentPayload
  readonly payee: Payee
}

/**
 * Reserve, simulate, sign and store, send, await the receipt, verify the transfer. Who asked credits
 * it, or the job that finishes payments.
 */
export async function settlePayment(deps: SettleDeps, input: SettleInput): Promise<SettleOutcome> {
  if (!(await deps.availability.isAvailable())) return reject('settlement_unavailable')
  const head = await deps.rpc.header('latest').catch(() => undefined)
  if (head === undefined) return reject('settlement_unavailable')
  const intent = newIntent(deps, input, head.number)
  const reserved = await deps.engine.write((connection) =>
    reserveIntent(connection, { intent, settler: deps.signer.address }),
  )
  if (reserved === 'used') return { kind: 'used' }
  if (reserved === 'busy') return { kind: 'pending', transaction: null }
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const early = await simulate(deps, { intent, isLast: attempt > 0 })
    if (early === 'again') {
      await sleep(BLOCK_MS)
      continue
    }
    if (early !== undefined) return early
    const outcome = await submitOrEnd(deps, intent)
    if (outcome.kind === 'rejected') return outcome
    if (outcome.kind === 'submitted') return awaitReceipt(deps, outcome.intent)
  }
  await abandon(deps, intent)
  return reject('settlement_unavailable')
}

/** A slow store lets simulations expire. */
const ATTEMPTS_MAX = 5

function newIntent(deps: SettleDeps, input: SettleInput, fromBlock: number): Intent {
  const { payload, payee } = input
  return {
    id: deps.newId(),
    chainId: deps.payment.chain.id,
    asset: deps.payment.asset,
    authorization: payload.authorization,
    signature: payload.signature,
    payee,
    status: 'reserved',
    createdUnix: unixNow(deps.clock),
    fromBlock,
    ...UNSIGNED,
  }
}

function reject(reason: PaymentFault): {
  readonly kind: 'rejected'
  readonly reason: PaymentFault
} {
  return { kind: 'rejected', reason }
}

const BLOCK_MS = 2_000

interface Simulated {
  readonly intent: Intent
  readonly isLast: boolean
}

/** Catches most failures for free. `again`: refused without a reason, perhaps by a lagging node. */
async function simulate(
  deps: SettleDeps,
  simulated: Simulated,
): Promise<SettleOutcome | 'again' | undefined> {
  const { intent } = simulated
  const data = transferCall(intent.authorization, intent.signature)
  try {
    await deps.rpc.call({ from: deps.signer.address, to: intent.asset, data })
    return undefined
  } catch (error) {
    if (error instanceof NodeRefusal) return await explain(deps, simulated)
    deps.report(error)
    await abandon(deps, intent)
    return reject('settlement_unavailable')
  }
}

/** Someone else may have sent it, and we are paid. */
async function explain(
  deps: SettleDeps,
  { intent, isLast }: Simulated,
): Promise<SettleOutcome | 'again'> {
  try {
    const verdict = await reconcileIntent(deps, intent)
    if (verdict.kind === 'paid') return { kind: 'settled', intent, paid: verdict }
    const isPoor = verdict.kind === 'open' && !(await holdsEnough(deps, intent))
    if (verdict.kind === 'open' && !isPoor && !isLast) return 'again'
    await abandon(deps, intent)
    // The money moved or will: the finisher credits it.
    if (verdict.kind === 'used') return { kind: 'pending', transaction: null }
    return reject(isPoor ? 'insufficient_funds' : 'invalid_transaction_state')
  } catch (error) {
    deps.report(error)
    await abandon(deps, intent)
    return { kind: 'pending', transaction: null }
  }
}

/** Others may still send it, so it is watched until it expires. */
async function abandon(deps: SettleDeps, intent: Intent): Promise<boolean> {
  const lookUnix = unixNow(deps.clock)
  return await deps.engine.write((connection) =>
    endIntent(connection, intent, { to: 'abandoned', lookUnix }),
  )
}

/** `rejected`: nothing was or will be signed. */
async function submitOrEnd(
  deps: SettleDeps,
  intent: Intent,
): Promise<Exclude<SubmitOutcome, { kind: 'refused' }> | ReturnType<typeof reject>> {
  try {
    const outcome = await deps.submit(intent)
    if (outcome.kind !== 'refused') return outcome
  } catch (error) {
    deps.report(error)
  }
  // If it was stored after all, it will be sent.
  if (!(await abandon(deps, intent)))
    return { kind: 'submitted', intent: { ...intent, status: 'submitted' } }
  return reject(
    hasTimeLeft(deps, intent.authorization)
      ? 'settlement_unavailable'
      : 'invalid_exact_evm_payload_authorization_valid_before',
  )
}

/** Clients tolerate ten seconds. */
const RECEIPT_MS = 10_000
const POLL_MS = 200

async function awaitReceipt(deps: SettleDeps, intent: Intent): Promise<SettleOutcome> {
  const pending = { kind: 'pending', transaction: intent.txHash } as const
  for (let waitedMs = 0; waitedMs < RECEIPT_MS; waitedMs += POLL_MS) {
    const settlement = await look(deps, intent)
    if (settlement.kind === 'paid') return { kind: 'settled', intent, paid: settlement }
    const explained = settlement.kind === 'unpaid' ? await explainSealed(deps, intent) : undefined
    if (explained !== undefined) return explained
    await sleep(POLL_MS)
  }
  return pending
}

async function look(deps: SettleDeps, intent: Intent): Promise<Settlement> {
  if (intent.txHash === null) return { kind: 'unknown' }
  try {
    return await readSettlement(deps, intent, intent.txHash)
  } catch {
    return { kind: 'unknown' }
  }
}

/** Undefined while a reorg could change it. */
async function explainSealed(deps: SettleDeps, intent: Intent): Promise<SettleOutcome | undefined> {
  try {
    const verdict = await reconcileIntent(deps, intent)
    if (verdict.kind === 'paid') return { kind: 'settled', intent, paid: verdict }
    if (!isOver(verdict) && verdict.kind !== 'reverted') return undefined
    const lookUnix = isOver(verdict) ? undefined : unixNow(deps.clock)
    await deps.engine.write((connection) =>
      endIntent(connection, intent, { to: 'failed', lookUnix }),
    )
    return reject('invalid_transaction_state')
  } catch (error) {
    deps.report(error)
    return undefined
  }
}
