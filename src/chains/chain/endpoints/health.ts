import type { Clock } from '#lib/time.ts'
import type { EndpointState } from '../chain-source.ts'
import { type EndpointError, isOutage, type RpcError } from '../rpc-error.ts'

type SetAside = Exclude<EndpointState, 'ok' | 'probing'>

const FAILURES_IN_ROW_MAX = 3

/** Doubles until the endpoint stays healthy. */
const ASIDE_MS: Readonly<Record<SetAside, number>> = {
  failing: 2_000,
  lagging: 15_000,
  pruned: 300_000,
  lying: 60_000,
  'wrong-chain': 60_000,
}
const ASIDE_MAX_MS = 300_000

const FORGIVEN_MS = 300_000

export class Health {
  readonly #clock: Clock
  readonly #onChange: (state: EndpointState, reason: string | null) => void
  #state: EndpointState = 'probing'
  #reason: string | null = null
  #failuresInRow = 0
  #timesAside = 0
  #askAgainMs = 0
  #wellSinceMs = Number.NEGATIVE_INFINITY
  #headNumber: number | null = null
  #resolveProbed = () => {}
  readonly untilProbed: Promise<void>
  lagBlocks = 0

  constructor(clock: Clock, onChange: (state: EndpointState, reason: string | null) => void) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.untilProbed = promise
    this.#resolveProbed = resolve
    this.#clock = clock
    this.#onChange = onChange
  }

  get state(): EndpointState {
    return this.#state
  }

  get reason(): string | null {
    return this.#reason
  }

  get headNumber(): number | null {
    return this.#headNumber
  }

  get wellSinceMs(): number {
    return this.#wellSinceMs
  }

  get failuresInRow(): number {
    return this.#failuresInRow
  }

  get isUsable(): boolean {
    return this.#state === 'ok' || this.#state === 'pruned'
  }

  get isDue(): boolean {
    return this.#clock() >= this.#askAgainMs
  }

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

  lacksHistory(reason: string): void {
    if (this.#state === 'ok') this.setAside('pruned', reason)
  }

  /** Endpoints without any answered probe are not trusted. */
  missedProbe(error: RpcError): void {
    const state = this.#state
    if (state === 'probing') this.setAside('failing', error.message)
    else if (state !== 'ok') this.setAside(state, this.#reason ?? error.message)
  }

  blame(error: RpcError): void {
    if (error.lie) this.setAside('lying', error.message)
    else {
      this.#failuresInRow += 1
      if (this.#failuresInRow >= FAILURES_IN_ROW_MAX && this.isUsable)
        this.setAside('failing', error.message)
    }
  }

  provenOfChain(): void {
    this.#failuresInRow = 0
    if (this.#state === 'probing') this.#change('ok', null)
    this.#resolveProbed()
  }

  /** Liars and pruned endpoints wait out their time. */
  passed(): void {
    const isMended = ['failing', 'lagging', 'wrong-chain'].includes(this.#state)
    if (this.#state !== 'ok' && (isMended || this.isDue)) {
      this.#wellSinceMs = this.#clock()
      this.#change('ok', null)
    }
  }

  setAside(state: SetAside, reason: string): void {
    this.#resolveProbed()
    const nowMs = this.#clock()
    // Responses in flight together are one incident.
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
