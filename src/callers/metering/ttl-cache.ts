import type { LRUCache } from 'lru-cache'
import { growingCache } from '#lib/growing-cache.ts'
import type { Clock } from '#lib/time.ts'

interface Held<V> {
  readonly value: Promise<V>
  readonly askedAtMs: number
  isAgeing: boolean
}

/**
 * A bounded cache; concurrent callers share a load. Age counts from the start of the load. Past
 * half its age a value is refreshed in the background, so that regular callers never wait.
 */
export class TtlCache<V> {
  readonly #held: LRUCache<string, Held<V>>
  readonly #ttlMs: number
  readonly #clock: Clock

  constructor(options: { readonly max: number; readonly ttlMs: number; readonly clock: Clock }) {
    this.#held = growingCache(options.max)
    this.#ttlMs = options.ttlMs
    this.#clock = options.clock
  }

  get(key: string, load: () => Promise<V>): Promise<V> {
    const now = this.#clock()
    const held = this.#held.get(key)
    // Setting the clock back must not prolong entries.
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

  /** Keeps forgotten entries forgotten; a failed refresh is retried by the next caller. */
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

  forget(key: string): void {
    this.#held.delete(key)
  }

  forgetAll(): void {
    this.#held.clear()
  }
}
