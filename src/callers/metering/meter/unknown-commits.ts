import type { MicroUsd } from '#domain/money.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import type { UnknownCommit } from './admission.ts'
import { undoBatch } from './undo-batch.ts'

const RETRY_MS = 1_000

/** Half a minute of an unreachable store under load; more stays charged, and is reported. */
const WAITING_MAX = 10_000

interface Deps {
  readonly engine: Engine
  readonly clock: Clock
  readonly pricePerCall: MicroUsd
  readonly report?: ((error: unknown) => void) | undefined
}

/**
 * Commits of unknown outcome, in memory: whoever dies first leaves their calls charged. Each ends in one
 * transaction that undoes the charges if the commit stood.
 */
export class UnknownCommits {
  readonly #deps: Deps
  readonly #waiting: UnknownCommit[] = []
  #ending: Promise<void> | undefined
  #isEndingLater = false

  constructor(deps: Deps) {
    this.#deps = deps
  }

  add(commit: UnknownCommit): void {
    if (commit.charges.length === 0) return
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push(commit)
    else this.#deps.report?.(new Error(`calls stay charged: batch ${JSON.stringify(commit.id)}`))
    this.#endLater()
  }

  /** Resolves when none is left; rejects if the store fails. */
  end(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve()
    this.#ending ??= this.#endAll().finally(() => {
      this.#ending = undefined
    })
    return this.#ending
  }

  async #endAll(): Promise<void> {
    const { engine, clock, pricePerCall } = this.#deps
    for (let [commit] = this.#waiting; commit !== undefined; [commit] = this.#waiting) {
      const input = { commit, pricePerCall, nowUnix: unixNow(clock) }
      const done = () => {
        if (this.#waiting[0] === commit) this.#waiting.shift()
      }
      // A commit ends it, whether or not it has reached the disk.
      await engine.write((connection) => undoBatch(connection, input), done)
      done()
    }
  }

  /** Ends it even if no call comes that would need it. */
  #endLater(): void {
    if (this.#isEndingLater) return
    this.#isEndingLater = true
    setTimeout(() => {
      this.#isEndingLater = false
      this.end().catch((error: unknown) => {
        this.#deps.report?.(error)
        this.#endLater()
      })
    }, RETRY_MS).unref()
  }
}
