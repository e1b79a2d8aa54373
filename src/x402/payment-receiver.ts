import { LRUCache } from 'lru-cache'
import type { MicroUsd } from '#domain/money.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import { isSignedByPayer } from './offers/authorization.ts'
import { matchOffer } from './offers/match-offer.ts'
import {
  carriesPayment,
  type PaymentFault,
  type PaymentPayload,
  readPayment,
} from './offers/payment-payload.ts'
import { recoverWithin } from './recovery-guard.ts'
import { creditIntent } from './settling/credit-intent.ts'
import type { Intent } from './settling/intent.ts'
import { findIntent } from './settling/intent-store.ts'
import { reconcileIntent } from './settling/reconcile-intent.ts'
import {
  type SettleDeps,
  type SettleInput,
  type SettleOutcome,
  settlePayment,
} from './settling/settle-payment.ts'

export interface PaymentFacts {
  readonly headers: Parameters<typeof readPayment>[0]
  readonly addressBucket: string
}

export interface FreshPayment {
  readonly kind: 'fresh'
  readonly payload: PaymentPayload
}

export type Received =
  | FreshPayment
  | {
      readonly kind: 'rejected'
      readonly reason: PaymentFault
      readonly payload: PaymentPayload | undefined
    }
  | Refusal

/** Between chain look-ups of an ended payment. */
const LOOK_AGAIN_MS = 10_000

const LOOKED_MAX = 10_000

/** Each authorization once. */
export class PaymentReceiver {
  readonly #deps: SettleDeps
  readonly #underWay = new Set<string>()
  /** Limits the cost of showing ended payments again. */
  readonly #lookedMs = new LRUCache<string, number>({ max: LOOKED_MAX })
  readonly outcomes = { settled: 0, rejected: 0, used: 0, pending: 0 }

  constructor(deps: SettleDeps) {
    this.#deps = deps
  }

  /** A receipt shown again buys nothing, even where the call is free. Undefined without a payment. */
  async screen({ headers, addressBucket }: PaymentFacts): Promise<Refusal | 'carried' | undefined> {
    if (!carriesPayment(headers)) return undefined
    const payload = readPayment(headers)
    if (typeof payload === 'string') return 'carried'
    return (await this.#refuseUsed(payload, addressBucket)) ?? 'carried'
  }

  async receive(
    { headers, addressBucket }: PaymentFacts,
    amounts: readonly MicroUsd[],
  ): Promise<Received> {
    const payload = readPayment(headers)
    if (typeof payload === 'string') return this.#reject(payload, undefined)
    const used = await this.#refuseUsed(payload, addressBucket)
    if (used !== undefined) return used
    const recover = recoverWithin(this.#deps.recoveries, addressBucket)
    const reason = matchOffer(this.#deps, amounts, { payload, recover })
    if (isRefusal(reason)) return reason
    if (reason !== undefined) return this.#reject(reason, payload)
    return { kind: 'fresh', payload }
  }

  #reject(reason: PaymentFault, payload: PaymentPayload | undefined): Received {
    this.outcomes.rejected += 1
    return { kind: 'rejected', reason, payload }
  }

  /** Once per authorization, however many requests carry it. */
  async settle(input: SettleInput): Promise<SettleOutcome> {
    const outcome = await this.#settleOnce(input)
    this.outcomes[outcome.kind] += 1
    return outcome
  }

  async #settleOnce(input: SettleInput): Promise<SettleOutcome> {
    const name = nameOf(input.payload)
    if (this.#underWay.has(name)) return { kind: 'used' }
    this.#underWay.add(name)
    try {
      return await settlePayment(this.#deps, input)
    } finally {
      this.#underWay.delete(name)
    }
  }

  isUnderWay(payload: PaymentPayload): boolean {
    return this.#underWay.has(nameOf(payload))
  }

  async #refuseUsed(payload: PaymentPayload, addressBucket: string): Promise<Refusal | undefined> {
    const isUsed = this.isUnderWay(payload) || (await this.#isKnown(payload, addressBucket))
    if (!isUsed) return undefined
    this.outcomes.used += 1
    return refuseUsed()
  }

  async #isKnown(payload: PaymentPayload, addressBucket: string): Promise<boolean> {
    const { engine, payment } = this.#deps
    const { chain, asset } = payment
    const { from, nonce } = payload.authorization
    const named = { chainId: chain.id, asset, from, nonce }
    const intent = await findIntent({ run: engine.read }, named)
    if (intent === undefined) return false
    const isEnded = intent.status === 'abandoned' || intent.status === 'failed'
    if (isEnded && this.#mayLookAgain(payload, addressBucket)) await this.#lookAgain(intent)
    return true
  }

  #mayLookAgain(payload: PaymentPayload, addressBucket: string): boolean {
    const { clock, payment, recoveries } = this.#deps
    const [name, nowMs] = [nameOf(payload), clock()]
    const lookedMs = this.#lookedMs.get(name)
    if (lookedMs !== undefined && Math.abs(nowMs - lookedMs) < LOOK_AGAIN_MS) return false
    const asset = { chainId: payment.chain.id, asset: payment.asset, domain: payment.domain }
    const isSigned = recoverWithin(
      recoveries,
      addressBucket,
    )(() => isSignedByPayer(asset, payload.authorization, payload.signature))
    if (isSigned !== true) return false
    this.#lookedMs.set(name, nowMs)
    return true
  }

  /** We never resend it, but others may have: then the payee gets the money. */
  async #lookAgain(intent: Intent): Promise<void> {
    const { engine, report } = this.#deps
    try {
      const verdict = await reconcileIntent(this.#deps, intent)
      if (verdict.kind === 'paid')
        await engine.write((connection) =>
          creditIntent(connection, this.#deps, { intent, paid: verdict }),
        )
    } catch (error) {
      report(error)
    }
  }
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
