import { sleep } from '#base/async.ts'
import type { Clock } from '#base/time.ts'
import { EndpointError, type FailureKind } from '#chain/rpc-error.ts'

export interface RateLimitPass {
  readonly urgent: boolean
  readonly slowdowns: number
}

interface SlowdownReason {
  readonly kind: FailureKind
  readonly retryAfterMs: number | undefined
}

const LIMIT_START = 4
const LIMIT_MAX = 16

const PAUSE_START_MS = 250
const PAUSE_MAX_MS = 60_000
/** Notices recovery soon. */
const OUTAGE_PAUSE_MAX_MS = 4_000

/** Fails at once if it would wait longer. */
const URGENT_PATIENCE_MS = 10_000

interface WaitingTurn {
  readonly urgent: boolean
  readonly resolve: (pass: RateLimitPass) => void
  readonly reject: (error: EndpointError) => void
}

/**
 * Slow start and AIMD, as in TCP (RFC 5681), with a pause after a refusal. Urgent requests go
 * first.
 */
export class RateLimiter {
  readonly #timing: Timing
  readonly #waiting: WaitingTurn[] = []
  #limit = LIMIT_START
  #inFlight = { urgent: 0, other: 0 }
  #cleanInRow = 0
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

  get pausedMs(): number {
    return this.#pausedAt(this.#timing.clock())
  }

  async enter(urgent: boolean, signal?: AbortSignal): Promise<RateLimitPass> {
    // Read the clock once: if the pause ended between two reads, nothing would wake the queue.
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
        reject(new EndpointError('aborted', 'cancelled by the caller'))
      }
      this.#waiting.push(waiting)
      signal?.addEventListener('abort', giveUp, { once: true })
      if (signal?.aborted) giveUp()
      this.#wakeAfterPause(nowMs)
    })
  }

  leave(pass: RateLimitPass): void {
    this.#inFlight[pass.urgent ? 'urgent' : 'other'] -= 1
    this.#admit()
  }

  speedUp(): void {
    this.#refusalsInRow = 0
    this.#cleanInRow += 1
    if (!this.#isStarting && this.#cleanInRow < this.#limit) return
    this.#cleanInRow = 0
    this.#limit = Math.min(LIMIT_MAX, this.#limit + 1)
  }

  /** Earlier requests do not halve the limit again. */
  slowDown(pass: RateLimitPass, why: SlowdownReason): void {
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
    return new EndpointError('too-fast', `rate-limited; retrying in ${seconds} s`)
  }

  /** Jitter keeps clients out of step. */
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

  #start(urgent: boolean): RateLimitPass {
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

export interface Timing {
  /** Monotonic. */
  readonly clock: Clock
  random(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemTiming: Timing = {
  clock: () => performance.now(),
  random: Math.random,
  sleep,
}
