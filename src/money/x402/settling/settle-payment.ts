import type { Hash } from '#domain/address.ts'
import { sleep } from '#lib/async.ts'
import { unixNow } from '#lib/time.ts'
import type { PaymentFault } from '../faults.ts'
import type { PaymentPayload } from '../offers/payment-payload.ts'
import type { X402Deps } from '../x402-deps.ts'
import { endPayment } from './credit-payment.ts'
import { findPayment, paymentById } from './payment-store.ts'
import { readSettlement, type Settlement } from './read-settlement.ts'
import { type ReconcileVerdict, reconcilePayment } from './reconcile-payment.ts'
import { reservePayment } from './reserve-payment.ts'
import { type Payee, samePayee, sameSigned, type X402Payment } from './x402-payment.ts'

export type SettleOutcome =
  | SettledPayment
  /** The leader was first: the money is on the balance, and serves the request that takes it. */
  | { readonly kind: 'credited'; readonly transaction: Hash; readonly id: string }
  | { readonly kind: 'rejected'; readonly reason: PaymentFault }
  | { readonly kind: 'used' }
  /** Outcome unknown. Null: another payment is open, or no transaction is known. */
  | { readonly kind: 'pending'; readonly transaction: Hash | null }

/** The chain shows the transfer; it is not credited yet. */
export interface SettledPayment {
  readonly kind: 'settled'
  readonly payment: X402Payment
  readonly paid: Extract<Settlement, { kind: 'paid' }>
}

export interface SettleDeps extends X402Deps {
  /** How long a request waits. Clients tolerate ten seconds. */
  readonly waitMs: number
}

export interface SettleInput {
  readonly payload: PaymentPayload
  readonly payee: Payee
}

/** Reserves the payment for the leader to settle, and waits until the chain shows the transfer. */
export async function settlePayment(deps: SettleDeps, input: SettleInput): Promise<SettleOutcome> {
  if (!(await deps.readiness.isReady())) return reject('settlement_unavailable')
  const head = await deps.rpc.header('latest').catch(() => undefined)
  if (head === undefined) return reject('settlement_unavailable')
  const payment = newPayment(deps, input, head.number)
  const reserved = await deps.engine.write((connection) => reservePayment(connection, payment))
  if (reserved === 'used') return { kind: 'used' }
  if (reserved === 'waits') return reject('payer_waits')
  if (reserved === 'busy') return { kind: 'pending', transaction: null }
  return awaitOutcome(deps, payment)
}

function newPayment(deps: SettleDeps, input: SettleInput, fromBlock: number): X402Payment {
  const { payload, payee } = input
  return {
    id: deps.newId(),
    scheme: payload.scheme,
    chainId: deps.payment.chain.id,
    asset: deps.payment.asset,
    authorization: payload.authorization,
    signature: payload.signature,
    payee,
    status: 'reserved',
    createdUnix: unixNow(deps.clock),
    fromBlock,
    txHash: null,
    reason: null,
    isServed: false,
  }
}

function reject(reason: PaymentFault): Extract<SettleOutcome, { kind: 'rejected' }> {
  return { kind: 'rejected', reason }
}

const POLL_MS = 200

/** A facilitator may never answer, or name the wrong transaction. */
const LOOK_MS = 2_000

async function awaitOutcome(deps: SettleDeps, payment: X402Payment): Promise<SettleOutcome> {
  const watch = new Watch(deps)
  const untilMs = performance.now() + deps.waitMs
  let seen = payment
  while (performance.now() < untilMs) {
    seen = (await paymentById({ run: deps.engine.read }, payment.id)) ?? seen
    const ended = endOf(seen)
    if (ended !== undefined) return ended
    const paid = seen.status === 'submitted' ? await watch.look(seen) : undefined
    if (paid !== undefined) return { kind: 'settled', payment: seen, paid }
    await sleep(POLL_MS)
  }
  // The leader sends nothing that is not reserved.
  const isAbandoned = await deps.engine.write((connection) =>
    endPayment(connection, payment, {
      to: 'abandoned',
      lookUnix: unixNow(deps.clock),
      reason: 'settlement_unavailable',
    }),
  )
  if (isAbandoned) return reject('settlement_unavailable')
  return { kind: 'pending', transaction: seen.txHash }
}

/** Returns the outcome that the leader has stored. */
function endOf(payment: X402Payment): Exclude<SettleOutcome, SettledPayment> | undefined {
  const { status, reason, txHash, id, isServed } = payment
  if (status === 'abandoned' || status === 'failed')
    return reason === null ? { kind: 'pending', transaction: null } : reject(reason)
  if (status === 'claimed') return { kind: 'used' }
  if (status !== 'credited' || txHash === null) return undefined
  return isServed ? { kind: 'used' } : { kind: 'credited', transaction: txHash, id }
}

/** Asks for the transaction that is named, and now and then for any that uses the authorization. */
class Watch {
  readonly #deps: SettleDeps
  #nextMs = performance.now() + LOOK_MS

  constructor(deps: SettleDeps) {
    this.#deps = deps
  }

  async look(payment: X402Payment): Promise<Extract<Settlement, { kind: 'paid' }> | undefined> {
    try {
      const isEarly = performance.now() < this.#nextMs
      const seen = isEarly ? await this.#named(payment) : await this.#any(payment)
      return seen?.kind === 'paid' ? seen : undefined
    } catch (error) {
      this.#deps.report(error)
      return undefined
    }
  }

  async #named(payment: X402Payment): Promise<Settlement | undefined> {
    return payment.txHash === null ? undefined : readSettlement(this.#deps, payment, payment.txHash)
  }

  #any(payment: X402Payment): Promise<ReconcileVerdict> {
    this.#nextMs = performance.now() + LOOK_MS
    return reconcilePayment(this.#deps, payment)
  }
}

/**
 * The same payment again, for the same balance: waits for what becomes of it. One request is served
 * by it, any other is `used`.
 */
export async function joinPayment(
  deps: SettleDeps,
  input: SettleInput,
): Promise<Exclude<SettleOutcome, SettledPayment>> {
  const { chain, asset } = deps.payment
  const { from, nonce } = input.payload.authorization
  const named = { chainId: chain.id, asset, from, nonce }
  const untilMs = performance.now() + deps.waitMs
  let transaction: Hash | null = null
  while (performance.now() < untilMs) {
    const payment = await findPayment({ run: deps.engine.read }, named)
    const isOther =
      payment !== undefined &&
      !(samePayee(payment.payee, input.payee) && sameSigned(payment, input.payload))
    if (isOther) return { kind: 'used' }
    const ended = payment && endOf(payment)
    if (ended !== undefined) return ended
    transaction = payment?.txHash ?? null
    await sleep(POLL_MS)
  }
  return { kind: 'pending', transaction }
}
