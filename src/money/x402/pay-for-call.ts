import { type Admission, admitWithin } from '#accounts/metering/meter/meter.ts'
import type { Hash } from '#domain/address.ts'
import type { Caller } from '#domain/caller.ts'
import { type FailureGuard, isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import { errorText, paymentRequiredHeader } from '#money/x402/offers/offer.ts'
import type { X402Deps } from '#money/x402/x402-deps.ts'
import type { PaymentRequired, RequestFacts } from '#route/route.ts'
import type { PaymentFault } from './faults.ts'
import { carriesPayment, type PaymentPayload } from './offers/payment-payload.ts'
import { type PaymentResponse, paymentResponseHeaders } from './offers/payment-response.ts'
import { type PaymentReceiver, refuseUsed } from './payment-receiver.ts'
import { creditPayment } from './settling/credit-payment.ts'
import { openPaymentOf } from './settling/payment-store.ts'
import type { SettleDeps, SettledPayment, SettleOutcome } from './settling/settle-payment.ts'
import type { Payee, X402Payment } from './settling/x402-payment.ts'

type Headers = Readonly<Record<string, string>>

/** What became of a call's payment; the headers go on any answer. */
export type CallPayment =
  | ProvenPayment
  /** Another payment raised the caller's balance meanwhile. */
  | { readonly kind: 'balance'; readonly headers: Headers }
  | UnsettledPayment

export interface ProvenPayment {
  readonly kind: 'proven'
  readonly headers: Headers
  /** Call it once. Undefined where the call was not admitted in the transaction of the credit. */
  post(what: 'credit' | 'credit and call'): Promise<Admission | UnsettledPayment | undefined>
}

export interface UnsettledPayment {
  readonly kind: 'unsettled'
  readonly headers: Headers
  readonly ending: Refusal | PaymentRequired
}

export interface CallHooks {
  readonly settlements: FailureGuard
  readonly quotaBody: (caller: Caller) => unknown
}

interface CallDeps extends SettleDeps, CallHooks {
  readonly receiver: PaymentReceiver
}

interface PaidCall {
  readonly caller: Caller
  readonly facts: RequestFacts
  readonly payload: PaymentPayload
}

export class CallPayments {
  readonly #deps: CallDeps
  /** Payments that are not credited yet, by the balance that they raise. */
  readonly #underWay = new Map<string, Promise<UnderWay>>()

  constructor(deps: CallDeps) {
    this.#deps = deps
  }

  /**
   * The contract's 402, with an x402 offer in the header if it can be settled. While a payment of
   * the caller is open it is 503: whoever pays again pays twice.
   */
  async offer(
    caller: Caller,
    facts: RequestFacts,
    error?: PaymentFault,
  ): Promise<PaymentRequired | Refusal> {
    const { readiness, quotaBody } = this.#deps
    const open = await openPaymentOfCaller(this.#deps, caller)
    if (open !== undefined) return refusePending(open.txHash)
    const body = quotaBody(caller)
    const isOffered = error !== 'settlement_unavailable' && (await readiness.isReady())
    if (!isOffered) return { kind: 'payment-required', body }
    const header = callOfferHeader(this.#deps, { target: facts.target, error })
    return { kind: 'payment-required', body, headers: { 'PAYMENT-REQUIRED': header } }
  }

  /** Settles the attached payment without crediting it yet; undefined without one. */
  async pay(caller: Caller, facts: RequestFacts): Promise<CallPayment | undefined> {
    if (!carriesPayment(facts.headers)) return undefined
    const { receiver, amounts } = this.#deps
    const payee = payeeOf(caller)
    const received = await receiver.receive(facts, { amounts, payee })
    if (isRefusal(received)) return { kind: 'unsettled', headers: {}, ending: received }
    const { payload } = received
    if (received.kind === 'rejected')
      return this.#rejected({ caller, facts, payload }, received.reason)
    if (received.kind === 'crowded') return this.#pending(received.payload, null)
    const call = { caller, facts, payload: received.payload }
    if (received.kind === 'fresh') return this.#payInTurn(call)
    return this.#toCallPayment(call, await receiver.join({ payload: received.payload, payee }))
  }

  /**
   * One at a time per balance: an agent that signed ten payments for ten parallel 402s pays once
   * for all.
   */
  async #payInTurn(call: PaidCall): Promise<CallPayment> {
    const { caller } = call
    const balance = caller.kind === 'keyed' ? `key:${caller.publicId}` : caller.bucket
    for (;;) {
      const before = this.#underWay.get(balance)
      if (before === undefined) break
      const outcome = await before
      if (outcome.kind === 'credited') return { kind: 'balance', headers: {} }
      // No response header: another payment is pending.
      if (outcome.kind === 'pending')
        return { kind: 'unsettled', headers: {}, ending: refusePending(outcome.transaction) }
    }
    const { promise, resolve } = Promise.withResolvers<UnderWay>()
    this.#underWay.set(balance, promise)
    // Removed before waiters wake, so that they do not await it again.
    const end = (outcome: UnderWay) => {
      this.#underWay.delete(balance)
      resolve(outcome)
    }
    try {
      const outcome = await this.#settle(call)
      if (outcome.kind === 'settled') return this.#toProven(call, outcome, end)
      end(isCreditedOrPending(outcome) ? outcome : NOT_CREDITED)
      return await this.#toCallPayment(call, outcome)
    } catch (error) {
      end(NOT_CREDITED)
      throw error
    }
  }

  async #settle({ caller, facts, payload }: PaidCall): Promise<SettleOutcome | Refusal> {
    const { receiver, settlements } = this.#deps
    const limited = settlements.refusal(facts.addressBucket)
    if (limited !== undefined) return limited
    const outcome = await receiver.settle({ payload, payee: payeeOf(caller) })
    // What was sent and is not shown may have cost gas.
    const isSent = outcome.kind === 'pending' && outcome.transaction !== null
    if (outcome.kind === 'rejected' || isSent) settlements.failed(facts.addressBucket)
    return outcome
  }

  #toProven(
    { caller, payload }: PaidCall,
    settled: SettledPayment,
    end: (outcome: UnderWay) => void,
  ): ProvenPayment {
    const transaction = settled.paid.deposit.txHash
    const headers = paymentResponseHeaders(this.#deps.payment, { payload, transaction })
    return {
      kind: 'proven',
      headers,
      post: async (what) => {
        try {
          const admission = await this.#credit(settled, what === 'credit' ? undefined : caller)
          end({ kind: 'credited' })
          return admission
        } catch (error) {
          this.#deps.report(error)
          end({ kind: 'pending', transaction })
          return this.#pending(payload, transaction)
        }
      },
    }
  }

  /** With the call of a caller, if one is given. */
  #credit(settled: SettledPayment, caller: Caller | undefined): Promise<Admission | undefined> {
    return this.#deps.engine.write(async (connection) => {
      const isServed = caller !== undefined
      const credit = () => creditPayment(connection, this.#deps, { ...settled, isServed })
      const ctx = { ...this.#deps, ecosystem: this.#deps }
      if (caller !== undefined) return admitWithin(ctx, connection, caller, credit)
      await credit()
      return undefined
    })
  }

  #pending(payload: PaymentPayload, transaction: Hash | null): UnsettledPayment {
    const pending = { payload, transaction, errorReason: 'settlement_pending' } as const
    const headers = paymentResponseHeaders(this.#deps.payment, pending)
    return { kind: 'unsettled', headers, ending: refusePending(transaction) }
  }

  async #toCallPayment(
    call: PaidCall,
    outcome: Exclude<SettleOutcome, SettledPayment> | Refusal,
  ): Promise<CallPayment> {
    if (outcome.kind === 'credited') return this.#toServed(call, outcome)
    if (outcome.kind === 'refusal') return { kind: 'unsettled', headers: {}, ending: outcome }
    if (outcome.kind === 'used') return { kind: 'unsettled', headers: {}, ending: refuseUsed() }
    if (outcome.kind === 'rejected') return this.#rejected(call, outcome.reason)
    return this.#pending(call.payload, outcome.transaction)
  }

  /** The payment is credited; only a call that succeeds uses it up. */
  #toServed(
    { payload }: PaidCall,
    outcome: Extract<SettleOutcome, { kind: 'credited' }>,
  ): ProvenPayment {
    const { transaction } = outcome
    const headers = paymentResponseHeaders(this.#deps.payment, { payload, transaction })
    const post = async (what: 'credit' | 'credit and call') => {
      if (what === 'credit') return undefined
      const ending = await this.#deps.receiver.takeServed(outcome)
      return ending && ({ kind: 'unsettled', headers: {}, ending } as const)
    }
    return { kind: 'proven', headers, post }
  }

  async #rejected(
    { caller, facts, payload }: Omit<PaidCall, 'payload'> & Pick<PaymentResponse, 'payload'>,
    reason: PaymentFault,
  ): Promise<UnsettledPayment> {
    const response = { payload, transaction: null, errorReason: reason }
    const headers = paymentResponseHeaders(this.#deps.payment, response)
    return { kind: 'unsettled', headers, ending: await this.offer(caller, facts, reason) }
  }
}

type UnderWay =
  | { readonly kind: 'credited' }
  | { readonly kind: 'not credited' }
  | { readonly kind: 'pending'; readonly transaction: Hash | null }

const NOT_CREDITED = { kind: 'not credited' } as const

function isCreditedOrPending(
  outcome: SettleOutcome | Refusal,
): outcome is Extract<SettleOutcome, { kind: 'credited' | 'pending' }> {
  return outcome.kind === 'credited' || outcome.kind === 'pending'
}

export function payeeOf(caller: Caller): Payee {
  if (caller.kind === 'anonymous') return { kind: 'bucket', bucket: caller.bucket }
  return { kind: 'key', publicId: caller.publicId, wallet: caller.wallet, isOwn: true }
}

export function openPaymentOfCaller(
  { engine }: Pick<SettleDeps, 'engine'>,
  caller: Caller,
): Promise<X402Payment | undefined> {
  const wallet = caller.kind === 'keyed' ? caller.wallet : undefined
  return openPaymentOf({ run: engine.read }, payeeOf(caller), wallet)
}

/** Blocks come every two seconds. */
const RETRY_SECONDS = 5

/** Never 402, which would ask for a second payment while the first may still arrive. */
export function refusePending(transaction: Hash | null): Refusal {
  return refuse(
    'settlement_pending',
    transaction === null
      ? 'the payment is not settled yet: another one is in progress, or its transfer is not visible yet. Do not sign a new payment: send this one again later, or check /api/usage'
      : 'the payment was sent, but its transaction is not confirmed yet; it will be credited automatically. Do not pay again: check /api/usage',
    { retryAfterSeconds: RETRY_SECONDS, members: { transaction } },
  )
}

type Deps = Pick<X402Deps, 'payment' | 'pricePerCall' | 'clock' | 'amounts' | 'publicBaseUrl'>

/** Proxies limit headers to 4 KB by default; the others need about 1 KB. */
export const OFFER_LENGTH_MAX = 2_800

/** Drops the query if the header is too long. */
export function callOfferHeader(
  deps: Deps,
  { target, error }: { readonly target: string; readonly error: string | undefined },
): string {
  const [path = ''] = target.split('?', 1)
  const header = (part: string) =>
    paymentRequiredHeader(deps, {
      amounts: deps.amounts,
      resourceUrl: deps.publicBaseUrl + part,
      ...(error !== undefined && { error: errorText(error) }),
    })
  const whole = header(target)
  return whole.length <= OFFER_LENGTH_MAX ? whole : header(path)
}
