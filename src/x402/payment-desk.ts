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

/** The parts of a request that carry a payment, and its sender. */
export interface PaymentFacts {
  readonly headers: Parameters<typeof readPayment>[0]
  readonly addressBucket: string
}

/** A payment that fits an offer of ours, was never used, and was signed by its payer. */
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

/** A payment that we ended without money is looked for on the chain this seldom. */
const LOOK_AGAIN_MS = 10_000

/** Payments of which it is known when they were looked for; a megabyte or two. */
const LOOKED_MAX = 10_000

/** Takes payments in: tells used ones from fresh ones, and settles each once. */
export class PaymentDesk {
  readonly #deps: SettleDeps
  /** Authorizations that this process is settling. */
  readonly #underWay = new Set<string>()
  /** When ended payments were looked for, so that who shows one over and over costs no node anything. */
  readonly #lookedMs = new LRUCache<string, number>({ max: LOOKED_MAX })
  /** Payments that came, by what became of them here; of this process, since its start. */
  readonly outcomes = { settled: 0, rejected: 0, used: 0, pending: 0 }

  constructor(deps: SettleDeps) {
    this.#deps = deps
  }

  /**
   * Refuses a payment that was used or is being settled, on whatever path and for whomever: a
   * receipt that is shown again buys nothing, also where the call would be free.
   */
  async screen({ headers, addressBucket }: PaymentFacts): Promise<Refusal | undefined> {
    if (!carriesPayment(headers)) return undefined
    const payload = readPayment(headers)
    if (typeof payload === 'string') return undefined
    return this.#refuseUsed(payload, addressBucket)
  }

  /** Reads the payment of a request and checks all that needs no node. */
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

  /** One authorization is settled once, however many requests carry it at the same moment. */
  async settle<A>(input: SettleInput<A>): Promise<SettleOutcome<A>> {
    const outcome = await this.#settleOnce(input)
    this.outcomes[outcome.kind] += 1
    return outcome
  }

  async #settleOnce<A>(input: SettleInput<A>): Promise<SettleOutcome<A>> {
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

  /** We never send it again, but whoever held it may have: then the money is its payee's. */
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
    'this payment was used before; what it paid is on the balance that it was for. Sign a new one only to pay again',
  )
}
