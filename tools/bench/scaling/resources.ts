/** Processor cores that serve in the order of arrival. */
export class Cores {
  readonly #freeMs: number[]
  /** So far, of all of them. */
  busyMs = 0

  constructor(count: number) {
    this.#freeMs = Array.from({ length: count }, () => 0)
  }

  get count(): number {
    return this.#freeMs.length
  }

  /** Returns when the work is done; of `earlierUs`, what fitted into the idle time before costs no time now. */
  use(atMs: number, us: number, earlierUs = 0): number {
    let earliest = 0
    for (let core = 1; core < this.#freeMs.length; core += 1)
      if ((this.#freeMs[core] ?? 0) < (this.#freeMs[earliest] ?? 0)) earliest = core
    const freeMs = this.#freeMs[earliest] ?? 0
    const idleMs = Math.max(0, atMs - freeMs)
    const leftMs = Math.max(0, earlierUs / 1_000 - idleMs)
    const endMs = Math.max(atMs, freeMs) + us / 1_000 + leftMs
    this.#freeMs[earliest] = endMs
    this.busyMs += (us + earlierUs) / 1_000
    return endMs
  }
}

/** A write-ahead log: what comes during one flush is written by the next. */
export class Log {
  readonly #flushMs: number
  #endMs = 0
  #nextEndMs = 0

  constructor(flushMs: number) {
    this.#flushMs = flushMs
  }

  /** Returns when it is on the disk. */
  flush(atMs: number): number {
    if (atMs >= this.#nextEndMs) {
      this.#endMs = atMs + this.#flushMs
      this.#nextEndMs = this.#endMs
      return this.#endMs
    }
    if (atMs >= this.#endMs) this.#endMs = this.#nextEndMs
    if (this.#nextEndMs === this.#endMs) this.#nextEndMs += this.#flushMs
    return this.#nextEndMs
  }
}
