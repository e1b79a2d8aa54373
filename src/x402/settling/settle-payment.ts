import type { Hash } from '#domain/address.ts'
import { sleep } from '#lib/sleep.ts'
import { unixNow } from '#lib/time.ts'
import type { Deposit } from '#payments/deposit.ts'
import type { Connection } from '#store/engine.ts'
import { transferCall } from '../offers/authorization.ts'
import type { Availability } from '../offers/availability.ts'
import { hasTimeLeft } from '../offers/match-offer.ts'
import type { PaymentFault, PaymentPayload } from '../offers/payment-payload.ts'
import type { X402Deps } from '../x402-deps.ts'
import { type Credited, creditIntent, endIntent } from './credit-intent.ts'
import { type Intent, type Payee, UNSIGNED } from './intent.ts'
import { holdsEnough, readSettlement, type Settlement } from './read-settlement.ts'
import { isOver, reconcileIntent } from './reconcile-intent.ts'
import { reserveIntent } from './reserve-intent.ts'
import { NodeRefusal } from './settling-rpc.ts'
import type { SubmitOutcome } from './submit-intent.ts'

export type SettleOutcome<A> =
  /** `admission` is undefined when the credit was made by somebody else a moment before. */
  | { readonly kind: 'settled'; readonly deposit: Deposit; readonly admission: A | undefined }
  /** Nothing was moved, or nothing that could be credited. */
  | { readonly kind: 'rejected'; readonly reason: PaymentFault }
  /** The authorization was used before. */
  | { readonly kind: 'used' }
  /**
   * Sent, but what became of it is not known yet. Without a transaction: not sent by us, since another
   * payment is under way or somebody else seems to have sent it.
   */
  | { readonly kind: 'pending'; readonly transaction: Hash | null }

export interface SettleDeps extends X402Deps {
  readonly availability: Availability
  readonly submit: (intent: Intent) => Promise<SubmitOutcome>
}

export interface SettleInput<A> {
  readonly payload: PaymentPayload
  readonly payee: Payee
  /** What happens in the transaction of the credit; gives undefined when `credit` does. */
  readonly within: (
    connection: Connection,
    intent: Intent,
    credit: () => Promise<Credited | undefined>,
  ) => Promise<A | undefined>
  /** Called with the result of `within` if the commit failed with an unknown outcome. */
  readonly onLost?: (value: A, intent: Intent) => Promise<void>
}

/**
 * Settles a payment that was held against our offers: reserve, simulate, sign and store, send, wait
 * for the sealed receipt, check the transfer, credit. Nothing is served before that.
 */
export async function settlePayment<A>(
  deps: SettleDeps,
  input: SettleInput<A>,
): Promise<SettleOutcome<A>> {
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
    const early = await simulate(deps, input, { intent, isLast: attempt > 0 })
    if (early === 'again') {
      await sleep(BLOCK_MS)
      continue
    }
    if (early !== undefined) return early
    const outcome = await submitOrEnd(deps, intent)
    if (outcome.kind === 'rejected') return outcome
    if (outcome.kind === 'submitted') return awaitReceipt(deps, input, outcome.intent)
  }
  await abandon(deps, intent)
  return reject('settlement_unavailable')
}

/** Where the store is so slow that a simulation is old before its transaction is signed. */
const ATTEMPTS_MAX = 5

function newIntent<A>(deps: SettleDeps, input: SettleInput<A>, fromBlock: number): Intent {
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

/** Of the payment chain: a node that lags has it by then. */
const BLOCK_MS = 2_000

interface Simulated {
  readonly intent: Intent
  /** Whether it is given up when the chain tells no reason for a refusal. */
  readonly isLast: boolean
}

/**
 * Costs nothing and finds most of what would fail; undefined when it would succeed. `again` when the
 * chain tells no reason for a refusal: a block may have come in between, or another node answered.
 */
async function simulate<A>(
  deps: SettleDeps,
  input: SettleInput<A>,
  simulated: Simulated,
): Promise<SettleOutcome<A> | 'again' | undefined> {
  const { intent } = simulated
  const data = transferCall(intent.authorization, intent.signature)
  try {
    await deps.rpc.call({ from: deps.signer.address, to: intent.asset, data })
    return undefined
  } catch (error) {
    if (error instanceof NodeRefusal) return await explain(deps, input, simulated)
    deps.report(error)
    await abandon(deps, intent)
    return reject('settlement_unavailable')
  }
}

/** Why it would fail; perhaps because somebody else sent it before us, and we are paid. */
async function explain<A>(
  deps: SettleDeps,
  input: SettleInput<A>,
  { intent, isLast }: Simulated,
): Promise<SettleOutcome<A> | 'again'> {
  try {
    const verdict = await reconcileIntent(deps, intent)
    if (verdict.kind === 'paid') return await credit(deps, input, { intent, paid: verdict })
    const isPoor = verdict.kind === 'open' && !(await holdsEnough(deps, intent))
    if (verdict.kind === 'open' && !isPoor && !isLast) return 'again'
    await abandon(deps, intent)
    // The money has moved or will: whoever looks at ended payments credits it once it is shown.
    if (verdict.kind === 'used') return { kind: 'pending', transaction: null }
    return reject(isPoor ? 'insufficient_funds' : 'invalid_transaction_state')
  } catch (error) {
    deps.report(error)
    await abandon(deps, intent)
    return { kind: 'pending', transaction: null }
  }
}

/** We never send it, but whoever holds it may: it is looked at until its end. */
async function abandon(deps: SettleDeps, intent: Intent): Promise<boolean> {
  const lookUnix = unixNow(deps.clock)
  return await deps.engine.write((connection) =>
    endIntent(connection, intent, { to: 'abandoned', lookUnix }),
  )
}

/** `rejected` when nothing was signed and nothing ever will be. */
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
  // If it was stored after all, it is no longer reserved and will be sent.
  if (!(await abandon(deps, intent)))
    return { kind: 'submitted', intent: { ...intent, status: 'submitted' } }
  return reject(
    hasTimeLeft(deps, intent.authorization)
      ? 'settlement_unavailable'
      : 'invalid_exact_evm_payload_authorization_valid_before',
  )
}

/** Blocks of the payment chain come every two seconds; a client waits for ten without giving up. */
const RECEIPT_MS = 10_000
const POLL_MS = 200

async function awaitReceipt<A>(
  deps: SettleDeps,
  input: SettleInput<A>,
  intent: Intent,
): Promise<SettleOutcome<A>> {
  const pending = { kind: 'pending', transaction: intent.txHash } as const
  for (let waitedMs = 0; waitedMs < RECEIPT_MS; waitedMs += POLL_MS) {
    const settlement = await look(deps, intent)
    if (settlement.kind === 'paid') return await credit(deps, input, { intent, paid: settlement })
    const explained =
      settlement.kind === 'unpaid' ? await explainSealed(deps, input, intent) : undefined
    if (explained !== undefined) return explained
    await sleep(POLL_MS)
  }
  return pending
}

/** A node that does not answer now may answer at the next look. */
async function look(deps: SettleDeps, intent: Intent): Promise<Settlement> {
  if (intent.txHash === null) return { kind: 'unknown' }
  try {
    return await readSettlement(deps, intent, intent.txHash)
  } catch {
    return { kind: 'unknown' }
  }
}

/** Undefined while a reorg could still change it. */
async function explainSealed<A>(
  deps: SettleDeps,
  input: SettleInput<A>,
  intent: Intent,
): Promise<SettleOutcome<A> | undefined> {
  try {
    const verdict = await reconcileIntent(deps, intent)
    if (verdict.kind === 'paid') return await credit(deps, input, { intent, paid: verdict })
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

interface Paid {
  readonly intent: Intent
  readonly paid: Extract<Settlement, { kind: 'paid' }>
}

async function credit<A>(
  deps: SettleDeps,
  input: SettleInput<A>,
  { intent, paid }: Paid,
): Promise<SettleOutcome<A>> {
  const { deposit } = paid
  let value: A | undefined
  try {
    await deps.engine.write(async (connection) => {
      value = await input.within(connection, intent, () =>
        creditIntent(connection, deps, { intent, paid }),
      )
    })
    return { kind: 'settled', deposit, admission: value }
  } catch (error) {
    // The money has arrived: it is credited already, or will be once the store responds.
    deps.report(error)
    if (value !== undefined) await input.onLost?.(value, intent)
    return { kind: 'pending', transaction: deposit.txHash }
  }
}
