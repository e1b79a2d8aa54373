import { sleep } from '#base/async.ts'
import type { Clock } from '#base/time.ts'
import { asksToSlowDown, EndpointError } from '#chain/rpc-error.ts'

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

const LIMIT_START = 4
const LIMIT_MAX = 16

const PAUSE_START_MS = 250
const PAUSE_MAX_MS = 60_000
/** Notices recovery soon. */
const OUTAGE_PAUSE_MAX_MS = 4_000

/** Fails at once if it would wait longer. */
const URGENT_PATIENCE_MS = 10_000

interface Turn {
  readonly urgent: boolean
  readonly signal?: AbortSignal | undefined
}

/**
 * Slow start and AIMD, as in TCP (RFC 5681), with a pause after a refusal. Urgent requests wait for
 * urgent ones only.
 */
export class RateLimiter {
  readonly #timing: Timing
  readonly #inFlight = { urgent: 0, other: 0 }
  #limit = LIMIT_START
  #slowdowns = 0
  #refusalsInRow = 0
  #pausedUntilMs = 0
  #left = Promise.withResolvers<void>()

  constructor(timing: Timing) {
    this.#timing = timing
  }

  get limit(): number {
    return Math.floor(this.#limit)
  }

  get inFlight(): number {
    return this.#inFlight.urgent + this.#inFlight.other
  }

  get pausedMs(): number {
    return Math.max(0, this.#pausedUntilMs - this.#timing.clock())
  }

  /** Runs the request when its turn has come. */
  async run<T>(turn: Turn, request: () => Promise<T>): Promise<T> {
    await this.#enter(turn)
    const slowdowns = this.#slowdowns
    try {
      const answer = await request()
      this.#refusalsInRow = 0
      this.#limit = Math.min(LIMIT_MAX, this.#limit + (this.#slowdowns === 0 ? 1 : 1 / this.#limit))
      return answer
    } catch (error) {
      if (error instanceof EndpointError && asksToSlowDown(error.kind))
        this.#slowDown(error, slowdowns === this.#slowdowns)
      throw error
    } finally {
      this.#inFlight[turn.urgent ? 'urgent' : 'other'] -= 1
      const left = this.#left
      this.#left = Promise.withResolvers()
      left.resolve()
    }
  }

  async #enter({ urgent, signal }: Turn): Promise<void> {
    for (;;) {
      if (signal?.aborted) throw new EndpointError('aborted', 'cancelled by the caller')
      const { pausedMs } = this
      if (urgent && pausedMs > URGENT_PATIENCE_MS) {
        const seconds = Math.ceil(pausedMs / 1000)
        throw new EndpointError('too-fast', `rate-limited; retrying in ${seconds} s`)
      }
      const ahead = urgent ? this.#inFlight.urgent : this.inFlight
      if (pausedMs > 0) await this.#timing.sleep(Math.ceil(pausedMs), signal)
      else if (ahead >= this.limit) await this.#left.promise
      else break
    }
    this.#inFlight[urgent ? 'urgent' : 'other'] += 1
  }

  /** `isNews`: of requests that were sent together, the first refusal halves the limit. */
  #slowDown({ kind, retryAfterMs }: EndpointError, isNews: boolean): void {
    const pauseMs = retryAfterMs ?? this.#backoffMs(kind === 'too-fast')
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#timing.clock() + pauseMs)
    if (!isNews) return
    this.#slowdowns += 1
    this.#refusalsInRow += 1
    this.#limit = Math.max(1, Math.floor(this.#limit / 2))
  }

  /** Jitter keeps clients out of step. */
  #backoffMs(isTooFast: boolean): number {
    const maxMs = isTooFast ? PAUSE_MAX_MS : OUTAGE_PAUSE_MAX_MS
    const ms = Math.min(maxMs, PAUSE_START_MS * 2 ** this.#refusalsInRow)
    return ms * (0.5 + this.#timing.random() / 2)
  }
}
