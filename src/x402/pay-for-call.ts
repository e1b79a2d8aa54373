import type { Hash } from '#domain/address.ts'
import type { Caller } from '#domain/caller.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import type { PaymentRequired, RequestFacts } from '#http/route.ts'
import type { Connection } from '#store/engine.ts'
import type { Credited } from './credit-intent.ts'
import type { Payee } from './intent.ts'
import { paymentRequiredHeader } from './offer.ts'
import { type PaymentDesk, refuseUsed } from './payment-desk.ts'
import { carriesPayment, type PaymentFault, type PaymentPayload } from './payment-payload.ts'
import { paymentResponseHeaders } from './payment-response.ts'
import type { SettleDeps, SettleOutcome } from './settle-payment.ts'

/** A request that could be paid for; `target` is its path and query. */
export interface PaidFacts extends RequestFacts {
  readonly target: string
}

/** What became of a payment that came with a call; the headers go on the answer, whatever it is. */
export type CallPayment<A> =
  | {
      readonly kind: 'settled'
      readonly headers: Readonly<Record<string, string>>
      readonly admission?: A
    }
  | {
      readonly kind: 'unsettled'
      readonly headers: Readonly<Record<string, string>>
      readonly ending: Refusal | PaymentRequired
    }

/** What a call needs of the meter and the guard; `A` is an admission, which only the meter reads. */
export interface CallHooks<A> {
  /** Bounds what one address can have us ask of nodes. */
  readonly guard: (addressBucket: string) => Refusal | undefined
  /** Credits and admits the call in one transaction; undefined when `credit` gives that. */
  readonly admitCredited: (
    connection: Connection,
    input: { readonly caller: Caller; readonly name: string },
    credit: () => Promise<Credited | undefined>,
  ) => Promise<A | undefined>
  /** The contract's body of a 402. */
  readonly quotaBody: () => unknown
}

interface CallDeps<A> extends SettleDeps, CallHooks<A> {
  readonly desk: PaymentDesk
}

type Flight<A> = SettleOutcome<A> | Refusal

/** Lets callers whose quota is used up pay with the call itself. */
export class CallPayments<A> {
  readonly #deps: CallDeps<A>
  /** Payments that are being settled, by the balance that they raise. */
  readonly #flights = new Map<string, Promise<Flight<A>>>()

  constructor(deps: CallDeps<A>) {
    this.#deps = deps
  }

  /** The contract's 402, with a genuine offer in its header while that can be kept. */
  async offer(facts: PaidFacts, error?: PaymentFault): Promise<PaymentRequired> {
    const { availability, quotaBody, amounts, publicBaseUrl } = this.#deps
    const body = quotaBody()
    if (!(await availability.isAvailable())) return { kind: 'payment-required', body }
    const header = paymentRequiredHeader(this.#deps, {
      amounts,
      resourceUrl: publicBaseUrl + facts.target,
      ...(error !== undefined && { error }),
    })
    return { kind: 'payment-required', body, headers: { 'PAYMENT-REQUIRED': header } }
  }

  /** Settles the payment of a call; undefined when it carries none. */
  async pay(caller: Caller, facts: PaidFacts): Promise<CallPayment<A> | undefined> {
    if (!carriesPayment(facts.headers)) return undefined
    const received = await this.#deps.desk.receive(facts.headers, this.#deps.amounts)
    if (isRefusal(received)) return { kind: 'unsettled', headers: {}, ending: received }
    const { payload } = received
    if (received.kind === 'rejected') return this.#rejected(facts, received.reason, payload)
    return this.#payInTurn(caller, facts, received.payload)
  }

  /**
   * One payment at a time for one balance: an agent whose ten calls met ten 402s has signed ten
   * payments, and the first pays for all. The others keep their money.
   */
  async #payInTurn(
    caller: Caller,
    facts: PaidFacts,
    payload: PaymentPayload,
  ): Promise<CallPayment<A>> {
    const balance = caller.kind === 'keyed' ? `key:${caller.publicId}` : caller.bucket
    for (;;) {
      if (this.#deps.desk.isUnderWay(payload)) return this.#toCallPayment(facts, payload, USED)
      const before = this.#flights.get(balance)
      if (before === undefined) break
      const outcome = await before.catch(() => undefined)
      if (outcome?.kind === 'settled') return { kind: 'settled', headers: {} }
      // Without a receipt: it is not this payment that is under way.
      if (outcome?.kind === 'pending')
        return { kind: 'unsettled', headers: {}, ending: refusePending(outcome.transaction) }
    }
    const flight = this.#settle(caller, facts, payload)
    this.#flights.set(balance, flight)
    try {
      return await this.#toCallPayment(facts, payload, await flight)
    } finally {
      this.#flights.delete(balance)
    }
  }

  async #settle(caller: Caller, facts: PaidFacts, payload: PaymentPayload): Promise<Flight<A>> {
    const { desk, guard, admitCredited } = this.#deps
    const limited = guard(facts.addressBucket)
    if (limited !== undefined) return limited
    return desk.settle({
      payload,
      payee: payeeOf(caller),
      within: (connection, intent, credit) =>
        admitCredited(connection, { caller, name: `x402:${intent.id}` }, credit),
    })
  }

  async #toCallPayment(
    facts: PaidFacts,
    payload: PaymentPayload,
    outcome: Flight<A>,
  ): Promise<CallPayment<A>> {
    const { payment } = this.#deps
    if (outcome.kind === 'refusal') return { kind: 'unsettled', headers: {}, ending: outcome }
    if (outcome.kind === 'used') return { kind: 'unsettled', headers: {}, ending: refuseUsed() }
    if (outcome.kind === 'rejected') return this.#rejected(facts, outcome.reason, payload)
    if (outcome.kind === 'pending') {
      const { transaction } = outcome
      const pending = { payload, transaction, errorReason: 'settlement_pending' }
      const headers = paymentResponseHeaders(payment, pending)
      return { kind: 'unsettled', headers, ending: refusePending(transaction) }
    }
    const transaction = outcome.deposit.txHash
    const headers = paymentResponseHeaders(payment, { payload, transaction })
    const { admission } = outcome
    return { kind: 'settled', headers, ...(admission !== undefined && { admission }) }
  }

  async #rejected(
    facts: PaidFacts,
    reason: PaymentFault,
    payload: PaymentPayload | undefined,
  ): Promise<CallPayment<A>> {
    const receipt = { payload, transaction: null, errorReason: reason }
    const headers = paymentResponseHeaders(this.#deps.payment, receipt)
    return { kind: 'unsettled', headers, ending: await this.offer(facts, reason) }
  }
}

const USED = { kind: 'used' } as const

export function payeeOf(caller: Caller): Payee {
  if (caller.kind === 'anonymous') return { kind: 'bucket', bucket: caller.bucket }
  return { kind: 'key', publicId: caller.publicId, wallet: caller.wallet }
}

/** A minute is what the verifier needs at most. */
const RETRY_SECONDS = 5

/** Never 402, which would ask for a second payment while the first may still arrive. */
export function refusePending(transaction: Hash | null): Refusal {
  return refuse(
    'settlement_pending',
    'the payment was sent, but it is not known yet whether it is on the chain; it will be credited by itself. Do not pay again: look at /api/usage',
    { retryAfterSeconds: RETRY_SECONDS, members: { transaction } },
  )
}
