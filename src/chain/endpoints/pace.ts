import { EndpointError, type FailureKind } from './endpoint-error.ts'
import type { Timing } from './timing.ts'

/** A request that may be sent; given back when its answer is in. */
export interface Pass {
  readonly urgent: boolean
  /** How often the pace had been slowed down when the request was sent. */
  readonly slowdowns: number
}

/** Why fewer requests are to be sent. */
export interface SlowdownReason {
  readonly kind: FailureKind
  readonly retryAfterMs: number | undefined
}

const LIMIT_START = 4
const LIMIT_MAX = 16

/** After a refusal without `Retry-After`: doubles from here with every further one. */
const PAUSE_START_MS = 250
const PAUSE_MAX_MS = 60_000
/** A node that comes back is to be noticed soon. */
const OUTAGE_PAUSE_MAX_MS = 4_000

/** An urgent request that would have to wait longer fails instead, so that its caller can act. */
const URGENT_PATIENCE_MS = 10_000

interface WaitingTurn {
  readonly urgent: boolean
  readonly resolve: (pass: Pass) => void
  readonly reject: (error: EndpointError) => void
}

/**
 * How many requests one endpoint gets at a time: one more after each good answer at first, and after
 * each clean round once it refused; half after a refusal (slow start and AIMD, as TCP does them,
 * RFC 5681); none while it wants to be left alone. Urgent requests do not
 * wait for others.
 */
export class Pace {
  readonly #timing: Timing
  readonly #waiting: WaitingTurn[] = []
  #limit = LIMIT_START
  #inFlight = { urgent: 0, other: 0 }
  #cleanInRow = 0
  /** One more after each good answer, until the first refusal tells where the limit is. */
  #isStarting = true
  #slowdowns = 0
  #refusalsInRow = 0
  #pausedUntilMs = 0
  #isWaking = false

  constructor(timing: Timing) {
    this.#timing = timing
  }

  get limit(): number {
    return this.#limit
  }

  get inFlight(): number {
    return this.#inFlight.urgent + this.#inFlight.other
  }

  /** Milliseconds until the endpoint may be asked again; 0 when it may now. */
  get pausedMs(): number {
    return this.#pausedAt(this.#timing.clock())
  }

  /** Whether a request that is not urgent would be sent at once. */
  get hasRoom(): boolean {
    return this.#mayGo(false, this.#timing.clock())
  }

  async enter(urgent: boolean, signal?: AbortSignal): Promise<Pass> {
    // One reading for all: a pause that ended between two would leave nobody to wake the waiting.
    const nowMs = this.#timing.clock()
    if (urgent && this.#pausedAt(nowMs) > URGENT_PATIENCE_MS) throw this.#tooLong()
    if (this.#mayGo(urgent, nowMs)) return this.#start(urgent)
    return new Promise((resolve, reject) => {
      const waiting: WaitingTurn = {
        urgent,
        reject,
        resolve: (pass) => {
          signal?.removeEventListener('abort', giveUp)
          resolve(pass)
        },
      }
      const giveUp = () => {
        const place = this.#waiting.indexOf(waiting)
        if (place < 0) return
        this.#waiting.splice(place, 1)
        reject(new EndpointError('aborted', 'no longer wanted'))
      }
      this.#waiting.push(waiting)
      signal?.addEventListener('abort', giveUp, { once: true })
      if (signal?.aborted) giveUp()
      this.#wakeAfterPause(nowMs)
    })
  }

  /** The request has ended, one way or another. */
  leave(pass: Pass): void {
    this.#inFlight[pass.urgent ? 'urgent' : 'other'] -= 1
    this.#admit()
  }

  /** The answer was good. */
  speedUp(): void {
    this.#refusalsInRow = 0
    this.#cleanInRow += 1
    if (!this.#isStarting && this.#cleanInRow < this.#limit) return
    this.#cleanInRow = 0
    this.#limit = Math.min(LIMIT_MAX, this.#limit + 1)
  }

  /** The endpoint had too much. What was sent before the last slowdown says nothing new. */
  slowDown(pass: Pass, why: SlowdownReason): void {
    const pauseMs = why.retryAfterMs ?? this.#backoffMs(why.kind)
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#timing.clock() + pauseMs)
    this.#cleanInRow = 0
    this.#isStarting = false
    if (this.pausedMs > URGENT_PATIENCE_MS) this.#sendUrgentAway()
    if (pass.slowdowns !== this.#slowdowns) return
    this.#slowdowns += 1
    this.#refusalsInRow += 1
    this.#limit = Math.max(1, Math.floor(this.#limit / 2))
  }

  #sendUrgentAway(): void {
    const urgent = this.#waiting.filter((each) => each.urgent)
    for (const each of urgent) {
      this.#waiting.splice(this.#waiting.indexOf(each), 1)
      each.reject(this.#tooLong())
    }
  }

  #tooLong(): EndpointError {
    const seconds = Math.ceil(this.pausedMs / 1000)
    return new EndpointError('too-fast', `wants to be left alone for ${seconds} s`)
  }

  /** Exponential with full jitter above a half, so that several clients do not come back at once. */
  #backoffMs(kind: FailureKind): number {
    const maxMs = kind === 'too-fast' ? PAUSE_MAX_MS : OUTAGE_PAUSE_MAX_MS
    const ms = Math.min(maxMs, PAUSE_START_MS * 2 ** this.#refusalsInRow)
    return ms * (0.5 + this.#timing.random() / 2)
  }

  #pausedAt(nowMs: number): number {
    return Math.max(0, this.#pausedUntilMs - nowMs)
  }

  #mayGo(urgent: boolean, nowMs: number): boolean {
    if (this.#pausedAt(nowMs) > 0) return false
    if (urgent) return this.#inFlight.urgent < this.#limit
    return this.inFlight < this.#limit && !this.#waiting.some((each) => each.urgent)
  }

  #start(urgent: boolean): Pass {
    this.#inFlight[urgent ? 'urgent' : 'other'] += 1
    return { urgent, slowdowns: this.#slowdowns }
  }

  #admit(): void {
    const nowMs = this.#timing.clock()
    for (const urgent of [true, false])
      for (;;) {
        const place = this.#waiting.findIndex((each) => each.urgent === urgent)
        const first = this.#waiting[place]
        if (first === undefined || !this.#mayGo(urgent, nowMs)) break
        this.#waiting.splice(place, 1)
        first.resolve(this.#start(urgent))
      }
    this.#wakeAfterPause(nowMs)
  }

  #wakeAfterPause(nowMs: number): void {
    const pausedMs = this.#pausedAt(nowMs)
    if (this.#isWaking || this.#waiting.length === 0 || pausedMs === 0) return
    this.#isWaking = true
    void this.#timing.sleep(Math.ceil(pausedMs)).then(() => {
      this.#isWaking = false
      this.#admit()
    })
  }
}
