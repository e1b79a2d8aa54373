import type { Hash } from '#domain/address.ts'
import type { Caller } from '#domain/caller.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import type { PaymentRequired, RequestFacts } from '#route/route.ts'
import type { Connection } from '#store/engine.ts'
import { callOfferHeader } from './offers/call-offer.ts'
import { carriesPayment, type PaymentFault, type PaymentPayload } from './offers/payment-payload.ts'
import { paymentResponseHeaders, type Receipted } from './offers/payment-response.ts'
import { type PaymentReceiver, refuseUsed } from './payment-receiver.ts'
import type { FailureGuard } from './recovery-guard.ts'
import type { Credited } from './settling/credit-intent.ts'
import type { Intent, Payee } from './settling/intent.ts'
import type { SettleDeps, SettleOutcome } from './settling/settle-payment.ts'
import type { SignInFault } from './sign-in/sign-in-message.ts'
import { createVisitors, signedInCaller, type Visitor } from './sign-in/signed-in.ts'

/** What became of a call's payment; the headers go on any answer. */
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

export interface CallHooks<A> {
  readonly settlements: FailureGuard
  /** In one transaction; undefined if `credit` is. */
  readonly admitCredited: (
    connection: Connection,
    input: { readonly caller: Caller; readonly name: string },
    credit: () => Promise<Credited | undefined>,
  ) => Promise<A | undefined>
  /** For a commit reported as failed that succeeded; never rejects. */
  readonly refundIfAdmitted: (admission: A, name: string) => Promise<void>
  readonly admitSignedIn: (caller: Caller) => Promise<A | undefined>
  readonly quotaBody: (caller: Caller) => unknown
}

interface CallDeps<A> extends SettleDeps, CallHooks<A> {
  readonly receiver: PaymentReceiver
}

type CallOutcome<A> = SettleOutcome<A> | Refusal

interface PaidCall {
  readonly caller: Caller
  readonly facts: RequestFacts
  readonly payload: PaymentPayload
}

export class CallPayments<A> {
  readonly #deps: CallDeps<A>
  /** By the balance that they credit. */
  readonly #underWay = new Map<string, Promise<CallOutcome<A>>>()
  readonly #recognise: ReturnType<typeof createVisitors>

  constructor(deps: CallDeps<A>) {
    this.#deps = deps
    this.#recognise = createVisitors(deps)
  }

  /** The contract's 402, with an x402 offer in the header if it can be settled. */
  async offer(
    caller: Caller,
    facts: RequestFacts,
    error?: PaymentFault | SignInFault,
  ): Promise<PaymentRequired> {
    const { availability, quotaBody } = this.#deps
    const body = quotaBody(caller)
    if (!(await availability.isAvailable())) return { kind: 'payment-required', body }
    const header = callOfferHeader(this.#deps, {
      target: facts.target,
      offersSignIn: caller.kind === 'anonymous',
      error,
    })
    return { kind: 'payment-required', body, headers: { 'PAYMENT-REQUIRED': header } }
  }

  /**
   * From a signed-in wallet's balance, else with the attached payment. Undefined without either.
   */
  async pay(caller: Caller, facts: RequestFacts): Promise<CallPayment<A> | undefined> {
    const visitor: Visitor =
      caller.kind === 'keyed' ? { kind: 'unknown' } : await this.#recognise(facts)
    if (visitor.kind === 'limited')
      return { kind: 'unsettled', headers: {}, ending: visitor.refusal }
    if (visitor.kind === 'refused') {
      const ending = await this.offer(caller, facts, visitor.reason)
      return { kind: 'unsettled', headers: {}, ending }
    }
    if (visitor.kind === 'unknown') return this.#settlePayment(caller, facts)
    const signedIn = signedInCaller(visitor.wallet)
    const { admitSignedIn } = this.#deps
    const admission = await admitSignedIn(signedIn)
    if (admission !== undefined) return { kind: 'settled', headers: {}, admission }
    const paid = await this.#settlePayment(signedIn, facts)
    if (paid?.kind !== 'settled' || paid.admission !== undefined) return paid
    // Another payment may have raised it.
    const later = await admitSignedIn(signedIn)
    return { ...paid, ...(later !== undefined && { admission: later }) }
  }

  visitor(facts: Pick<RequestFacts, 'headers' | 'addressBucket'>): Promise<Visitor> {
    return this.#recognise(facts)
  }

  async signedIn(
    facts: Pick<RequestFacts, 'headers' | 'addressBucket'>,
  ): Promise<Caller | undefined> {
    const visitor = await this.visitor(facts)
    return visitor.kind === 'wallet' ? signedInCaller(visitor.wallet) : undefined
  }

  async #settlePayment(caller: Caller, facts: RequestFacts): Promise<CallPayment<A> | undefined> {
    if (!carriesPayment(facts.headers)) return undefined
    const received = await this.#deps.receiver.receive(facts, this.#deps.amounts)
    if (isRefusal(received)) return { kind: 'unsettled', headers: {}, ending: received }
    const { payload } = received
    if (received.kind === 'rejected')
      return this.#rejected({ caller, facts, payload }, received.reason)
    return this.#payInTurn({ caller, facts, payload: received.payload })
  }

  /**
   * One at a time per balance: an agent that signed ten payments for ten parallel 402s pays once
   * for all.
   */
  async #payInTurn(call: PaidCall): Promise<CallPayment<A>> {
    const { caller, payload } = call
    const balance = caller.kind === 'keyed' ? `key:${caller.publicId}` : caller.bucket
    for (;;) {
      if (this.#deps.receiver.isUnderWay(payload)) return this.#toCallPayment(call, USED)
      const before = this.#underWay.get(balance)
      if (before === undefined) break
      const outcome = await before.catch(() => undefined)
      if (outcome?.kind === 'settled') return { kind: 'settled', headers: {} }
      // No receipt: another payment is pending.
      if (outcome?.kind === 'pending')
        return { kind: 'unsettled', headers: {}, ending: refusePending(outcome.transaction) }
    }
    // Removed before waiters wake, so that they do not await it again.
    const settling = this.#settle(call).finally(() => this.#underWay.delete(balance))
    this.#underWay.set(balance, settling)
    return this.#toCallPayment(call, await settling)
  }

  async #settle({ caller, facts, payload }: PaidCall): Promise<CallOutcome<A>> {
    const { receiver, settlements, admitCredited, refundIfAdmitted } = this.#deps
    const limited = settlements.refusal(facts.addressBucket)
    if (limited !== undefined) return limited
    const outcome = await receiver.settle<A>({
      payload,
      payee: payeeOf(caller),
      within: (connection, intent, credit) =>
        admitCredited(connection, { caller, name: meterNameOf(intent) }, credit),
      onLost: (admission, intent) => refundIfAdmitted(admission, meterNameOf(intent)),
    })
    if (outcome.kind === 'rejected') settlements.failed(facts.addressBucket)
    return outcome
  }

  async #toCallPayment(call: PaidCall, outcome: CallOutcome<A>): Promise<CallPayment<A>> {
    const { payment } = this.#deps
    const { payload } = call
    if (outcome.kind === 'refusal') return { kind: 'unsettled', headers: {}, ending: outcome }
    if (outcome.kind === 'used') return { kind: 'unsettled', headers: {}, ending: refuseUsed() }
    if (outcome.kind === 'rejected') return this.#rejected(call, outcome.reason)
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
    { caller, facts, payload }: Omit<PaidCall, 'payload'> & Pick<Receipted, 'payload'>,
    reason: PaymentFault,
  ): Promise<CallPayment<A>> {
    const receipt = { payload, transaction: null, errorReason: reason }
    const headers = paymentResponseHeaders(this.#deps.payment, receipt)
    return { kind: 'unsettled', headers, ending: await this.offer(caller, facts, reason) }
  }
}

function meterNameOf({ id }: Intent): string {
  return `x402:${id}`
}

const USED = { kind: 'used' } as const

export function payeeOf(caller: Caller): Payee {
  if (caller.kind === 'anonymous') return { kind: 'bucket', bucket: caller.bucket }
  return { kind: 'key', publicId: caller.publicId, wallet: caller.wallet }
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
