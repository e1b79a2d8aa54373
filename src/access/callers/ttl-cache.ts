import { LRUCache } from 'lru-cache'
import type { Clock } from '#lib/time.ts'

interface Held<V> {
  readonly value: Promise<V>
  readonly askedAtMs: number
  /** A newer one is being loaded. */
  isAgeing: boolean
}

/**
 * Remembers loaded values for a short time, a bounded number of them; those who ask at once share
 * one load. The time counts from the start of the load, so no answer is older than it says. A value past
 * half of its time is loaded anew beside those who are given it, so that who asks again and again
 * never waits.
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
    if (held !== undefined && now >= held.askedAtMs && now < held.askedAtMs + this.#ttlMs) {
      if (!held.isAgeing && now >= held.askedAtMs + this.#ttlMs / 2) this.#renew(key, held, load)
      return held.value
    }
    const fresh = { value: load(), askedAtMs: now, isAgeing: false }
    this.#held.set(key, fresh)
    fresh.value.catch(() => {
      if (this.#held.peek(key) === fresh) this.#held.delete(key)
    })
    return fresh.value
  }

  /** What was forgotten meanwhile stays forgotten; where the load fails, the next who asks tries. */
  #renew(key: string, held: Held<V>, load: () => Promise<V>): void {
    held.isAgeing = true
    const askedAtMs = this.#clock()
    const fresh = { value: load(), askedAtMs, isAgeing: false }
    fresh.value.then(
      () => {
        if (this.#held.peek(key) === held) this.#held.set(key, fresh)
      },
      () => {
        held.isAgeing = false
      },
    )
  }

  /** Drops a value, also one that is being loaded: who asks next loads anew. */
  forget(key: string): void {
    this.#held.delete(key)
  }
}
