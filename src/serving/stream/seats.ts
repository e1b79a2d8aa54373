import { LRUCache } from 'lru-cache'
import type { Clock } from '#lib/time.ts'

/** Half of all connections; the rest stay for calls. */
export const STREAMS_MAX = 5_000

/** The limit of each address, and of each wallet. */
const PER_CALLER_MAX = 50

/** The last seats are for callers who have none. */
const KEPT_SHARE = 0.1

/** An admitted stream opens sooner. Until then it is its caller's alone, or refused calls fill the house. */
const OPENING_MAX_MS = 30_000

/** Reconnects sooner than that count, and each beyond the first few doubles the delay. */
const OFTEN_MS = 60_000
const FREE_OPENINGS = 5
const RETRY_MIN_MS = 2_000
const RETRY_MAX_MS = 60_000

export interface Seat {
  /** Reconnect delay for the client (SSE `retry`). */
  readonly retryMs: number
  /** Keeps the seat until the signal aborts. */
  occupy(signal: AbortSignal): void
  leave(): void
}

/** Open streams of this process. */
export class Seats {
  readonly #clock: Clock
  readonly #max: number
  readonly #open = new Set<() => void>()
  readonly #taken = new Map<string, number>()
  readonly #openings = new LRUCache<string, readonly number[]>({ max: 10_000 })

  constructor({ clock, max = STREAMS_MAX }: { readonly clock: Clock; readonly max?: number }) {
    this.#clock = clock
    this.#max = max
  }

  /** Undefined when there is none for the caller, whom the names name. */
  take(names: readonly string[]): Seat | undefined {
    const own = Math.max(...names.map((name) => this.#taken.get(name) ?? 0))
    const max = own === 0 ? this.#max : this.#max - Math.floor(this.#max * KEPT_SHARE)
    if (own >= PER_CALLER_MAX || this.#open.size >= max) return undefined
    this.#count(names, 1)
    let isHeld = true
    const leave = () => {
      if (isHeld) this.#count(names, -1)
      isHeld = false
      clearTimeout(unopened)
      this.#open.delete(leave)
    }
    const unopened = setTimeout(leave, OPENING_MAX_MS).unref()
    return {
      retryMs: this.#retryMs(names[0] ?? ''),
      leave,
      occupy: (signal) => {
        clearTimeout(unopened)
        this.#open.add(leave)
        signal.addEventListener('abort', leave, { once: true })
      },
    }
  }

  #count(names: readonly string[], by: 1 | -1): void {
    for (const name of names) {
      const count = (this.#taken.get(name) ?? 0) + by
      if (count === 0) this.#taken.delete(name)
      else this.#taken.set(name, count)
    }
  }

  #retryMs(name: string): number {
    const nowMs = this.#clock()
    const before = this.#openings.get(name) ?? []
    const recent = [...before.filter((ms) => Math.abs(nowMs - ms) < OFTEN_MS), nowMs].slice(-20)
    this.#openings.set(name, recent)
    const often = Math.max(0, recent.length - FREE_OPENINGS)
    return Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** often)
  }
}
