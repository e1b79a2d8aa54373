import { setTimeout as delay } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Clock } from '#base/time.ts'

export class Mutex {
  #tail: Promise<unknown> = Promise.resolve()

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(task, task)
    this.#tail = result.catch(() => undefined)
    return result
  }
}

/** Waits for every task even after a failure: statements must not outlive their transaction. */
export async function allEnded<T extends readonly unknown[] | []>(
  tasks: T,
): Promise<{ -readonly [Index in keyof T]: Awaited<T[Index]> }> {
  await Promise.allSettled(tasks)
  return Promise.all(tasks)
}

/** Ends early on abort; never throws. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: true }).catch(() => undefined)
}

interface Held<V> {
  readonly value: Promise<V>
  readonly askedAtMs: number
}

interface TtlOptions {
  readonly max: number
  readonly ttlMs: number
  readonly clock: Clock
}

/** A bounded cache in which concurrent callers share one load. Age counts from the start of the load. Failed loads are not kept. */
export class TtlCache<V> {
  readonly #held: LRUCache<string, Held<V>>
  readonly #ttlMs: number
  readonly #clock: Clock

  constructor({ max, ttlMs, clock }: TtlOptions) {
    this.#held = new LRUCache({ max })
    this.#ttlMs = ttlMs
    this.#clock = clock
  }

  get(key: string, load: () => Promise<V>): Promise<V> {
    const now = this.#clock()
    const held = this.#held.get(key)
    // Setting the clock back must not prolong entries.
    if (held !== undefined && now >= held.askedAtMs && now < held.askedAtMs + this.#ttlMs)
      return held.value
    const fresh = { value: load(), askedAtMs: now }
    this.#held.set(key, fresh)
    fresh.value.catch(() => {
      if (this.#held.peek(key) === fresh) this.#held.delete(key)
    })
    return fresh.value
  }

  /** Remaining life of a cached value; 0 if the clock was set back, as in `get`. */
  leftMs(key: string): number {
    const { askedAtMs = Number.NEGATIVE_INFINITY } = this.#held.peek(key) ?? {}
    const leftMs = askedAtMs + this.#ttlMs - this.#clock()
    return leftMs > this.#ttlMs ? 0 : Math.max(0, leftMs)
  }

  forget(key: string): void {
    this.#held.delete(key)
  }

  forgetAll(): void {
    this.#held.clear()
  }
}

export function chunks<T>(items: readonly T[], size: number): T[][] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_, part) => items.slice(part * size, (part + 1) * size))
}
