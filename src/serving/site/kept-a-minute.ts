import { LRUCache } from 'lru-cache'
import type { Clock } from '#lib/time.ts'

const KEPT_MS = 60_000

const KEPT_MAX = 300

export interface Kept<Value> {
  readonly made: Promise<Value>
  readonly leftMs: number
}

/** Makes each thing at most once a minute, however often it is asked for. */
export class KeptAMinute<Value> {
  readonly #kept = new LRUCache<string, { made: Promise<Value>; atMs: number }>({ max: KEPT_MAX })
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(key: string, make: () => Promise<Value>): Kept<Value> {
    const now = this.#clock()
    let known = this.#kept.get(key)
    if (known === undefined || now < known.atMs || now >= known.atMs + KEPT_MS) {
      const own = { made: make(), atMs: now }
      known = own
      this.#kept.set(key, own)
      // A refusal or an outage may end soon.
      own.made.catch(() => {
        if (this.#kept.peek(key) === own) this.#kept.delete(key)
      })
    }
    return { made: known.made, leftMs: known.atMs + KEPT_MS - now }
  }
}
