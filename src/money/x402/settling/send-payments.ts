import { type Hash, parseHash } from '#domain/address.ts'
import { sleep } from '#lib/sleep.ts'
import { unixNow } from '#lib/time.ts'
import type { Facilitator } from '../facilitators/facilitator.ts'
import type { PaymentFault } from '../faults.ts'
import { hasTimeLeft } from '../offers/match-offer.ts'
import { requirementsOf } from '../offers/offer.ts'
import { schemeOf } from '../schemes/schemes.ts'
import type { CreditDeps } from '../x402-deps.ts'
import { endIntent } from './credit-intent.ts'
import type { Intent } from './intent.ts'
import { setHint, setIntentStatus } from './intent-store.ts'
import { holdsEnough } from './read-settlement.ts'
import { reconcileIntent } from './reconcile-intent.ts'

export interface SendDeps extends CreditDeps {
  readonly facilitator: Facilitator
  report(error: unknown): void
}

/** The request that pays has given up by then, and what it reserved is never sent. */
export const REQUEST_SECONDS = 12

/** A block is mined, or the facilitator is back. */
const AGAIN_MS = 30_000

/**
 * Has the facilitator verify and settle what requests have reserved, many at once. In the leader
 * only.
 */
export class PaymentSender {
  readonly #deps: SendDeps
  readonly #underWay = new Map<string, Promise<void>>()
  readonly #attemptedMs = new Map<string, number>()
  readonly #seenMs = new Map<string, number>()
  /** By this process: it replaces its own pending transactions. */
  readonly #settled = new Set<string>()

  constructor(deps: SendDeps) {
    this.#deps = deps
  }

  /**
   * Whether the request that reserved it may still wait, counted from when this process saw it first:
   * clocks of other processes differ. A request that has given up has also abandoned it.
   */
  isAwaited({ id }: Intent): boolean {
    const now = this.#deps.clock()
    const seenMs = this.#seenMs.get(id) ?? now
    this.#seenMs.set(id, seenMs)
    return now - seenMs < REQUEST_SECONDS * 1_000
  }

  /** A reserved payment. */
  start(intent: Intent): void {
    this.#run(intent, () => this.#verifyAndSettle(intent))
  }

  /** A submitted payment that the chain does not show. */
  again(intent: Intent): void {
    const now = this.#deps.clock()
    const attemptedMs = this.#attemptedMs.get(intent.id)
    // A leader before this one may have sent it just now.
    if (attemptedMs === undefined) this.#attemptedMs.set(intent.id, now)
    if (now - (attemptedMs ?? now) < AGAIN_MS) return
    if (hasTimeLeft(this.#deps, intent.authorization))
      this.#run(intent, () => this.#verifyAgainAndSettle(intent))
  }

  /** Forgets those that are not open any more. */
  keep(open: readonly Intent[]): void {
    const ids = new Set(open.map(({ id }) => id))
    for (const id of this.#attemptedMs.keys()) if (!ids.has(id)) this.#attemptedMs.delete(id)
    for (const id of this.#seenMs.keys()) if (!ids.has(id)) this.#seenMs.delete(id)
    for (const id of this.#settled) if (!ids.has(id)) this.#settled.delete(id)
  }

  async end(): Promise<void> {
    await Promise.all(this.#underWay.values())
  }

  #run({ id }: Intent, work: () => Promise<void>): void {
    if (this.#underWay.has(id)) return
    this.#attemptedMs.set(id, this.#deps.clock())
    const done = work()
      .catch(this.#deps.report)
      .finally(() => this.#underWay.delete(id))
    this.#underWay.set(id, done)
  }

  async #verifyAndSettle(intent: Intent): Promise<void> {
    const { engine } = this.#deps
    const verified = await this.#verify(intent)
    if (verified.kind === 'fault') {
      // Others may still send it, so it is watched until it expires.
      const { reason } = verified
      const ended = { to: 'abandoned', lookUnix: unixNow(this.#deps.clock), reason } as const
      await engine.write((connection) => endIntent(connection, intent, ended))
      return
    }
    const isSubmitted = await engine.write((connection) =>
      setIntentStatus(connection, { id: intent.id, from: 'reserved', to: 'submitted' }),
    )
    if (isSubmitted && verified.kind === 'valid') await this.#settle(intent)
    if (isSubmitted && verified.kind === 'paid') await this.#hint(intent, verified.txHash)
  }

  /** The payer may have spent the money since. */
  async #verifyAgainAndSettle(intent: Intent): Promise<void> {
    if ((await this.#askToVerify(intent)) !== true) return
    if (!(await this.#isSentByUs(intent))) await this.#settle(intent)
  }

  /** Sealed, or pending from an earlier leader: one more transaction would revert at our cost. */
  async #isSentByUs({ id, txHash }: Intent): Promise<boolean> {
    const { rpc, facilitator } = this.#deps
    if (facilitator.wallet === undefined || txHash === null) return false
    const found = await rpc.transaction(txHash)
    if (found?.from !== facilitator.wallet) return false
    return found.isSealed || !this.#settled.has(id)
  }

  async #verify(intent: Intent): Promise<Verified> {
    for (let attempt = 1; ; attempt += 1) {
      const isValid = await this.#askToVerify(intent)
      if (!hasTimeLeft(this.#deps, intent.authorization))
        return fault('invalid_exact_evm_payload_authorization_valid_before')
      if (isValid === undefined) return fault('settlement_unavailable')
      if (isValid) return { kind: 'valid' }
      const seen = await this.#explain(intent)
      if (seen !== undefined) return seen
      if (attempt === ATTEMPTS_MAX) return fault('invalid_transaction_state')
      await sleep(BLOCK_MS)
    }
  }

  async #askToVerify(intent: Intent): Promise<boolean | undefined> {
    const { facilitator, report } = this.#deps
    try {
      const { payload, requirements } = this.#written(intent)
      return (await facilitator.client.verify(payload, requirements)).isValid
    } catch (error) {
      report(error)
      return undefined
    }
  }

  /** What the chain says about a payment that does not verify. */
  async #explain(intent: Intent): Promise<Verified | undefined> {
    try {
      const verdict = await reconcileIntent(this.#deps, intent)
      if (verdict.kind === 'paid') return { kind: 'paid', txHash: verdict.deposit.txHash }
      // Without a reason, its request answers that it is pending.
      if (verdict.kind === 'used') return fault(undefined)
      if (verdict.kind !== 'open') return fault('invalid_transaction_state')
      return (await holdsEnough(this.#deps, intent)) ? undefined : fault('insufficient_funds')
    } catch (error) {
      this.#deps.report(error)
      return fault('settlement_unavailable')
    }
  }

  /** Whatever it answers, the chain decides; a transaction that it names is found sooner. */
  async #settle(intent: Intent): Promise<void> {
    const { facilitator } = this.#deps
    const { payload, requirements } = this.#written(intent)
    this.#settled.add(intent.id)
    const { success, transaction, errorReason, errorMessage } = await facilitator.client.settle(
      payload,
      requirements,
    )
    const txHash = parseHash(transaction)
    await this.#hint(intent, txHash)
    if (!success && txHash === undefined)
      throw new Error(`the facilitator did not settle: ${errorReason} ${errorMessage ?? ''}`)
  }

  async #hint({ id }: Intent, txHash: Hash | undefined): Promise<void> {
    if (txHash === undefined) return
    await this.#deps.engine.write((connection) => setHint(connection, { id, txHash }))
  }

  #written(intent: Intent) {
    const { payment } = this.#deps
    const scheme = schemeOf(intent)
    const { to, value } = intent.authorization
    const requirements = requirementsOf(scheme, { payment, amount: value, payTo: to })
    const payload = { x402Version: 2, accepted: requirements, payload: scheme.write(intent) }
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
