import type { Clock } from '#lib/time.ts'
import type { EndpointState } from '../chain-source.ts'
import type { RpcError } from '../rpc-error.ts'
import { type EndpointError, isOutage } from './endpoint-error.ts'

type SetAside = Exclude<EndpointState, 'ok' | 'probing'>

/** One lost answer is chance; three in a row are an endpoint in trouble. */
const FAILURES_IN_ROW_MAX = 3

/** How long an endpoint is left alone, doubled each time until it has been well for a while. */
const ASIDE_MS: Readonly<Record<SetAside, number>> = {
  failing: 2_000,
  lagging: 15_000,
  forked: 15_000,
  pruned: 300_000,
  lying: 60_000,
  'wrong-chain': 60_000,
}
const ASIDE_MAX_MS = 300_000

/** An endpoint that was well for so long after its return starts with short pauses again. */
const FORGIVEN_MS = 300_000

/** What a node has dropped it does not get back by itself; an operator may have mended it by then. */
const PROVEN_PRUNED_MS = 86_400_000

/** What is known of an endpoint, and whether it may be asked. */
export class Health {
  readonly #clock: Clock
  readonly #onChange: (state: EndpointState, reason: string | null) => void
  #state: EndpointState = 'probing'
  #reason: string | null = null
  #failuresInRow = 0
  #timesAside = 0
  #askAgainMs = 0
  /** Since when it is well; endpoints that never failed are so since ever. */
  #wellSinceMs = Number.NEGATIVE_INFINITY
  #headNumber: number | null = null
  #isOfChain = false
  #provenPruned = { untilMs: Number.NEGATIVE_INFINITY, reason: '' }
  #tellProbed = () => {}
  /** Resolves when the endpoint has been probed once, well or not. */
  readonly untilProbed: Promise<void>
  /** How far it was behind the best at the last probe. */
  lagBlocks = 0

  constructor(clock: Clock, onChange: (state: EndpointState, reason: string | null) => void) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.untilProbed = promise
    this.#tellProbed = resolve
    this.#clock = clock
    this.#onChange = onChange
  }

  get state(): EndpointState {
    return this.#state
  }

  get reason(): string | null {
    return this.#reason
  }

  /** The newest block that the endpoint has shown to know. */
  get headNumber(): number | null {
    return this.#headNumber
  }

  get wellSinceMs(): number {
    return this.#wellSinceMs
  }

  get failuresInRow(): number {
    return this.#failuresInRow
  }

  /** Has shown to serve the chain that is asked for. */
  get isOfChain(): boolean {
    return this.#isOfChain
  }

  /** May be asked anything about the head. */
  get isUsable(): boolean {
    return this.#state === 'ok' || this.#state === 'pruned'
  }

  /** Its pause is over: a probe may bring it back. */
  get isDue(): boolean {
    return this.#clock() >= this.#askAgainMs
  }

  /** The endpoint gave a block; the newest one may also be an older one than before. */
  knows(number: number, isHead: boolean): void {
    this.#headNumber = isHead ? number : Math.max(number, this.#headNumber ?? 0)
  }

  succeeded(): void {
    this.#failuresInRow = 0
  }

  failed(error: EndpointError): void {
    if (!isOutage(error.kind)) return
    this.#failuresInRow += 1
    if (this.#failuresInRow < FAILURES_IN_ROW_MAX) return
    if (this.isUsable) this.setAside('failing', error.message)
  }

  /** It has dropped old history; what is new it may still know. */
  lacksHistory(reason: string): void {
    if (this.#state === 'ok') this.setAside('pruned', reason)
  }

  /** It is proven to leave out old logs without a word: for long it is not asked for any. */
  provenToLackHistory(reason: string): void {
    this.#provenPruned = { untilMs: this.#clock() + PROVEN_PRUNED_MS, reason }
    if (this.isUsable) this.setAside('pruned', reason)
  }

  get isProvenPruned(): boolean {
    return this.#clock() < this.#provenPruned.untilMs
  }

  /** A probe came to nothing; an endpoint that never answered one is not to be trusted. */
  missedProbe(error: RpcError): void {
    const state = this.#state
    if (state === 'probing') this.setAside('failing', error.message)
    else if (state !== 'ok') this.setAside(state, this.#reason ?? error.message)
  }

  /** What the endpoint said could not be true; a proven lie sets it aside at once. */
  blame(error: RpcError): void {
    if (error.lie) this.setAside('lying', error.message)
    else {
      this.#failuresInRow += 1
      if (this.#failuresInRow >= FAILURES_IN_ROW_MAX && this.isUsable)
        this.setAside('failing', error.message)
    }
  }

  /** It serves the right chain, whatever else is wrong with it. */
  provenOfChain(): void {
    this.#isOfChain = true
    this.#failuresInRow = 0
    if (this.#state === 'probing') this.#change('ok', null)
    this.#tellProbed()
  }

  /**
   * A probe succeeded: the endpoint is up, near the head and on the right chain. Endpoints set aside for
   * a lie or missing history stay so until their time is up.
   */
  passed(): void {
    const isMended = ['failing', 'lagging', 'wrong-chain'].includes(this.#state)
    if (this.#state !== 'ok' && (isMended || this.isDue)) {
      this.#wellSinceMs = this.#clock()
      if (this.isProvenPruned) this.#change('pruned', this.#provenPruned.reason)
      else this.#change('ok', null)
    }
  }

  setAside(state: SetAside, reason: string): void {
    this.#tellProbed()
    if (state === 'wrong-chain') this.#isOfChain = false
    const nowMs = this.#clock()
    // Answers that were under way together are one occasion.
    if (state === this.#state && nowMs < this.#askAgainMs) return
    if (nowMs - this.#wellSinceMs > FORGIVEN_MS) this.#timesAside = 0
    const pauseMs = Math.min(ASIDE_MAX_MS, ASIDE_MS[state] * 2 ** this.#timesAside)
    this.#timesAside += 1
    this.#askAgainMs = nowMs + pauseMs
    this.#wellSinceMs = Number.POSITIVE_INFINITY
    this.#change(state, reason)
  }

  #change(state: EndpointState, reason: string | null): void {
    const isNews = state !== this.#state
    this.#state = state
    this.#reason = reason
    if (isNews) this.#onChange(state, reason)
  }
}
