import type { MicroUsd } from '#domain/money.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import type { PaymentFault } from './faults.ts'
import { matchOffer } from './offers/match-offer.ts'
import { carriesPayment, type PaymentPayload, readPayment } from './offers/payment-payload.ts'
import { schemeOf } from './schemes/schemes.ts'
import { findPayment, takeServed } from './settling/payment-store.ts'
import { isCrowded } from './settling/reserve-payment.ts'
import {
  joinPayment,
  type SettleDeps,
  type SettledPayment,
  type SettleInput,
  type SettleOutcome,
  settlePayment,
} from './settling/settle-payment.ts'
import { type Payee, samePayee, sameSigned, type X402Payment } from './settling/x402-payment.ts'

export interface PaymentFacts {
  readonly headers: Parameters<typeof readPayment>[0]
  readonly addressBucket: string
}

export type Received =
  /** `again`: it is open, and this request joins its outcome. `crowded`: too many are open. */
  | { readonly kind: 'fresh' | 'again' | 'crowded'; readonly payload: PaymentPayload }
  | {
      readonly kind: 'rejected'
      readonly reason: PaymentFault
      readonly payload: PaymentPayload | undefined
    }
  | Refusal

/** Receives each authorization once. */
export class PaymentReceiver {
  readonly #deps: SettleDeps
  readonly #underWay = new Set<string>()
  readonly outcomes = { settled: 0, rejected: 0, used: 0, pending: 0 }

  constructor(deps: SettleDeps) {
    this.#deps = deps
  }

  /**
   * A payment that is over buys nothing, even where the call is free; one that was credited without
   * its call serves one. Undefined without a payment.
   */
  async rejectUsedPayment({
    headers,
  }: Pick<PaymentFacts, 'headers'>): Promise<Refusal | 'carried' | 'credited' | undefined> {
    if (!carriesPayment(headers)) return undefined
    const payload = readPayment(headers)
    if (typeof payload === 'string' || this.#isUnderWay(payload)) return 'carried'
    const payment = await this.#find(payload)
    if (payment === undefined || isOpen(payment)) return 'carried'
    return mayBeServed(payment) ? 'credited' : this.#refuse()
  }

  /** Undefined for the one request that is served by a payment that the leader has credited. */
  async takeServed({
    id,
  }: Extract<SettleOutcome, { kind: 'credited' }>): Promise<Refusal | undefined> {
    const isMine = await this.#deps.engine.write((connection) => takeServed(connection, id))
    return isMine ? undefined : this.#refuse()
  }

  async receive(
    { headers, addressBucket }: PaymentFacts,
    { amounts, payee }: { readonly amounts: readonly MicroUsd[]; readonly payee: Payee },
  ): Promise<Received> {
    const payload = readPayment(headers)
    if (typeof payload === 'string') return this.#reject(payload, undefined)
    if (this.#isUnderWay(payload)) return { kind: 'again', payload }
    const payment = await this.#find(payload)
    if (payment !== undefined)
      return mayBeServed(payment) && samePayee(payment.payee, payee) && sameSigned(payment, payload)
        ? { kind: 'again', payload }
        : this.#refuse()
    const fault = matchOffer(this.#deps, amounts, payload)
    if (fault !== undefined) return this.#reject(fault, payload)
    const { engine, payment: config } = this.#deps
    const asked = { chainId: config.chain.id, asset: config.asset, payee, ...payload }
    if (await isCrowded({ run: engine.read }, asked)) return { kind: 'crowded', payload }
    const unsigned = await this.#checkSignature(payload, addressBucket)
    if (unsigned === undefined) return { kind: 'fresh', payload }
    return typeof unsigned === 'string' ? this.#reject(unsigned, payload) : unsigned
  }

  #reject(reason: PaymentFault, payload: PaymentPayload | undefined): Received {
    this.outcomes.rejected += 1
    return { kind: 'rejected', reason, payload }
  }

  #refuse(): Refusal {
    this.outcomes.used += 1
    return refuseUsed()
  }

  /** Settles an authorization once, however many requests carry it. */
  async settle(input: SettleInput): Promise<SettleOutcome> {
    const name = nameOf(input.payload)
    if (this.#underWay.has(name)) return this.join(input)
    this.#underWay.add(name)
    try {
      return this.#count(await settlePayment(this.#deps, input))
    } finally {
      this.#underWay.delete(name)
    }
  }

  async join(input: SettleInput): Promise<Exclude<SettleOutcome, SettledPayment>> {
    return this.#count(await joinPayment(this.#deps, input))
  }

  #count<T extends SettleOutcome>(outcome: T): T {
    this.outcomes[outcome.kind === 'credited' ? 'settled' : outcome.kind] += 1
    return outcome
  }

  #isUnderWay(payload: PaymentPayload): boolean {
    return this.#underWay.has(nameOf(payload))
  }

  #find({ authorization }: PaymentPayload): Promise<X402Payment | undefined> {
    const { engine, payment } = this.#deps
    const { from, nonce } = authorization
    const named = { chainId: payment.chain.id, asset: payment.asset, from, nonce }
    return findPayment({ run: engine.read }, named)
  }

  /** Undefined if signed. Limited by address, because it costs milliseconds and may ask a node. */
  async #checkSignature(
    payload: PaymentPayload,
    addressBucket: string,
  ): Promise<PaymentFault | Refusal | undefined> {
    const { recoveries, report } = this.#deps
    const limited = recoveries.refusal(addressBucket)
    if (limited !== undefined) return limited
    try {
      const fault = await schemeOf(payload).checkSignature(this.#deps, payload)
      if (fault !== undefined) recoveries.failed(addressBucket)
      return fault
    } catch (error) {
      report(error)
      return 'settlement_unavailable'
    }
  }
}

function isOpen({ status }: X402Payment): boolean {
  return status === 'reserved' || status === 'submitted'
}

function mayBeServed(payment: X402Payment): boolean {
  return isOpen(payment) || (payment.status === 'credited' && !payment.isServed)
}

function nameOf({ authorization }: PaymentPayload): string {
  return `${authorization.from}:${authorization.nonce}`
}

export function refuseUsed(): Refusal {
  return refuse(
    'payment_already_used',
    'this payment was already used; any amount it moved is on the balance it was made for. Sign a new payment only to pay again',
  )
}
