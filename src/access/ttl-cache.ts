import { LRUCache } from 'lru-cache'
import type { Clock } from '#lib/clock.ts'

interface Held<V> {
  readonly value: Promise<V>
  readonly askedAtMs: number
}

/**
 * Remembers loaded values for a short time, a bounded number of them; those who ask at once share
 * one load. The time counts from the start of the load, so no answer is older than it says.
 */
export class TtlCache<V> {
  readonly #held: LRUCache<string, Held<V>>
  readonly #ttlMs: number
  readonly #clock: Clock

  constructor(options: { readonly max: number; readonly ttlMs: number; readonly clock: Clock }) {
    this.#held = new LRUCache({ max: options.max })
    this.#ttlMs = options.ttlMs
    this.#clock = options.clock
  }

  get(key: string, load: () => Promise<V>): Promise<V> {
    const now = this.#clock()
    const held = this.#held.get(key)
    // A clock that was set back must not prolong what is held.
    if (held !== undefined && now >= held.askedAtMs && now < held.askedAtMs + this.#ttlMs)
      return held.value
    const fresh = { value: load(), askedAtMs: now }
    this.#held.set(key, fresh)
    fresh.value.catch(() => {
      if (this.#held.peek(key) === fresh) this.#held.delete(key)
    })
    return fresh.value
  }

  /** Drops a value, also one that is being loaded: who asks next loads anew. */
  forget(key: string): void {
    this.#held.delete(key)
  }
}
