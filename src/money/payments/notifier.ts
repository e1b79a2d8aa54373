import { sleep } from '#lib/async.ts'
import { StoreError } from '#store/engine.ts'

/** A block can take long; a credit of another process is then seen after this. */
const BEATS_MAX = 5

const POLL_MS = 1_000

/** Notifies those who wait for a prepayment of every block, and of every credit of this process. */
export class Notifier {
  readonly #waiting = new Set<() => void>()
  readonly #readHead: () => Promise<number | undefined>
  readonly #report: (error: unknown) => void
  #isWatching = false

  constructor(readHead: () => Promise<number | undefined>, report: (error: unknown) => void) {
    this.#readHead = readHead
    this.#report = report
  }

  get count(): number {
    return this.#waiting.size
  }

  listen(notify: () => void): () => void {
    this.#waiting.add(notify)
    void this.#watch()
    return () => void this.#waiting.delete(notify)
  }

  notify(): void {
    for (const listener of this.#waiting) listener()
  }

  /** One look a second, whatever the number of those who wait. */
  async #watch(): Promise<void> {
    if (this.#isWatching) return
    this.#isWatching = true
    let head: number | undefined
    try {
      for (let beats = 1; this.count > 0; beats += 1) {
        const newest = await this.#readHead().catch((error: unknown) => this.#passOver(error))
        if (newest !== head || beats >= BEATS_MAX) {
          beats = 0
          this.notify()
        }
        head = newest
        await sleep(POLL_MS)
      }
    } finally {
      this.#isWatching = false
    }
  }

  /** A store that is down is reported by whoever needs its answer. */
  #passOver(error: unknown): undefined {
    if (!(error instanceof StoreError)) this.#report(error)
  }
}
