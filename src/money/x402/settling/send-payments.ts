import { type Hash, parseHash } from '#domain/address.ts'
import { sleep } from '#lib/async.ts'
import { unixNow } from '#lib/time.ts'
import type { Facilitator } from '../facilitators/facilitator.ts'
import type { PaymentFault } from '../faults.ts'
import { hasTimeLeft } from '../offers/match-offer.ts'
import { requirementsOf } from '../offers/offer.ts'
import { schemeOf } from '../schemes/schemes.ts'
import type { CreditDeps } from '../x402-deps.ts'
import { endPayment } from './credit-payment.ts'
import { setHint, setPaymentStatus } from './payment-store.ts'
import { holdsEnough } from './read-settlement.ts'
import { reconcilePayment } from './reconcile-payment.ts'
import type { X402Payment } from './x402-payment.ts'

export interface SendDeps extends CreditDeps {
  readonly facilitator: Facilitator
  report(error: unknown): void
}

/** The request that pays has given up by then, and what it reserved is never sent. */
export const REQUEST_SECONDS = 12

/** A block is mined, or the facilitator is back. */
const AGAIN_MS = 30_000

/**
 * Has the facilitator verify and settle what requests have reserved, many at once. Only the leader runs it.
 */
export class PaymentSender {
  readonly #deps: SendDeps
  readonly #underWay = new Map<string, Promise<void>>()
  readonly #attemptedMs = new Map<string, number>()
  readonly #seenMs = new Map<string, number>()
  /** Payments that this process sent: it replaces its own pending transactions. */
  readonly #settled = new Set<string>()

  constructor(deps: SendDeps) {
    this.#deps = deps
  }

  /**
   * Whether the request that reserved it may still wait, counted from when this process saw it first:
   * clocks of other processes differ. A request that has given up has also abandoned it.
   */
  isAwaited({ id }: X402Payment): boolean {
    const now = this.#deps.clock()
    const seenMs = this.#seenMs.get(id) ?? now
    this.#seenMs.set(id, seenMs)
    return now - seenMs < REQUEST_SECONDS * 1_000
  }

  /** Sends a reserved payment. */
  start(payment: X402Payment): void {
    this.#run(payment, () => this.#verifyAndSettle(payment))
  }

  /** Sends a submitted payment again that the chain does not show. */
  again(payment: X402Payment): void {
    const now = this.#deps.clock()
    const attemptedMs = this.#attemptedMs.get(payment.id)
    // A leader before this one may have sent it just now.
    if (attemptedMs === undefined) this.#attemptedMs.set(payment.id, now)
    if (now - (attemptedMs ?? now) < AGAIN_MS) return
    if (hasTimeLeft(this.#deps, payment.authorization))
      this.#run(payment, () => this.#verifyAgainAndSettle(payment))
  }

  /** Forgets payments that are no longer open. */
  keep(open: readonly X402Payment[]): void {
    const ids = new Set(open.map(({ id }) => id))
    for (const id of this.#attemptedMs.keys()) if (!ids.has(id)) this.#attemptedMs.delete(id)
    for (const id of this.#seenMs.keys()) if (!ids.has(id)) this.#seenMs.delete(id)
    for (const id of this.#settled) if (!ids.has(id)) this.#settled.delete(id)
  }

  async end(): Promise<void> {
    await Promise.all(this.#underWay.values())
  }

  #run({ id }: X402Payment, work: () => Promise<void>): void {
    if (this.#underWay.has(id)) return
    this.#attemptedMs.set(id, this.#deps.clock())
    const done = work()
      .catch(this.#deps.report)
      .finally(() => this.#underWay.delete(id))
    this.#underWay.set(id, done)
  }

  async #verifyAndSettle(payment: X402Payment): Promise<void> {
    const { engine } = this.#deps
    const verified = await this.#verify(payment)
    if (verified.kind === 'fault') {
      // Others may still send it, so it is watched until it expires.
      const { reason } = verified
      const ended = { to: 'abandoned', lookUnix: unixNow(this.#deps.clock), reason } as const
      await engine.write((connection) => endPayment(connection, payment, ended))
      return
    }
    const isSubmitted = await engine.write((connection) =>
      setPaymentStatus(connection, { id: payment.id, from: 'reserved', to: 'submitted' }),
    )
    if (isSubmitted && verified.kind === 'valid') await this.#settle(payment)
    if (isSubmitted && verified.kind === 'paid') await this.#hint(payment, verified.txHash)
  }

  /** The payer may have spent the money since. */
  async #verifyAgainAndSettle(payment: X402Payment): Promise<void> {
    if ((await this.#askToVerify(payment)) !== true) return
    if (!(await this.#isSentByUs(payment))) await this.#settle(payment)
  }

  /** Whether our transaction is sealed, or pending from an earlier leader: one more would revert at our cost. */
  async #isSentByUs({ id, txHash }: X402Payment): Promise<boolean> {
    const { rpc, facilitator } = this.#deps
    if (facilitator.wallet === undefined || txHash === null) return false
    const found = await rpc.transaction(txHash)
    if (found?.from !== facilitator.wallet) return false
    return found.isSealed || !this.#settled.has(id)
  }

  async #verify(payment: X402Payment): Promise<Verified> {
    for (let attempt = 1; ; attempt += 1) {
      const isValid = await this.#askToVerify(payment)
      if (!hasTimeLeft(this.#deps, payment.authorization))
        return fault('invalid_exact_evm_payload_authorization_valid_before')
      if (isValid === undefined) return fault('settlement_unavailable')
      if (isValid) return { kind: 'valid' }
      const seen = await this.#explain(payment)
      if (seen !== undefined) return seen
      if (attempt === ATTEMPTS_MAX) return fault('invalid_transaction_state')
      await sleep(BLOCK_MS)
    }
  }

  async #askToVerify(payment: X402Payment): Promise<boolean | undefined> {
    const { facilitator, report } = this.#deps
    try {
      const { payload, requirements } = this.#written(payment)
      return (await facilitator.client.verify(payload, requirements)).isValid
    } catch (error) {
      report(error)
      return undefined
    }
  }

  /** What the chain says about a payment that does not verify. */
  async #explain(payment: X402Payment): Promise<Verified | undefined> {
    try {
      const verdict = await reconcilePayment(this.#deps, payment)
      if (verdict.kind === 'paid') return { kind: 'paid', txHash: verdict.deposit.txHash }
      // Without a reason, its request answers that it is pending.
      if (verdict.kind === 'used') return fault(undefined)
      if (verdict.kind !== 'open') return fault('invalid_transaction_state')
      return (await holdsEnough(this.#deps, payment)) ? undefined : fault('insufficient_funds')
    } catch (error) {
      this.#deps.report(error)
      return fault('settlement_unavailable')
    }
  }

  /** Whatever it answers, the chain decides; a transaction that it names is found sooner. */
  async #settle(payment: X402Payment): Promise<void> {
    const { facilitator } = this.#deps
    const { payload, requirements } = this.#written(payment)
    this.#settled.add(payment.id)
    const { success, transaction, errorReason, errorMessage } = await facilitator.client.settle(
      payload,
      requirements,
    )
    const txHash = parseHash(transaction)
    await this.#hint(payment, txHash)
    if (!success && txHash === undefined)
      throw new Error(`the facilitator did not settle: ${errorReason} ${errorMessage ?? ''}`)
  }

  async #hint({ id }: X402Payment, txHash: Hash | undefined): Promise<void> {
    if (txHash === undefined) return
    await this.#deps.engine.write((connection) => setHint(connection, { id, txHash }))
  }

  #written(payment: X402Payment) {
    const scheme = schemeOf(payment)
    const { to, value } = payment.authorization
    const requirements = requirementsOf(scheme, {
      payment: this.#deps.payment,
      amount: value,
      payTo: to,
    })
    const payload = { x402Version: 2, accepted: requirements, payload: scheme.write(payment) }
    return { payload, requirements }
  }
}

type Verified =
  | { readonly kind: 'valid' }
  | { readonly kind: 'paid'; readonly txHash: Hash }
  | { readonly kind: 'fault'; readonly reason: PaymentFault | undefined }

function fault(reason: PaymentFault | undefined): Verified {
  return { kind: 'fault', reason }
}

/** Nodes may lag by a block, and an authorization may begin in the next one. */
const ATTEMPTS_MAX = 3
const BLOCK_MS = 2_000
