import { LRUCache } from 'lru-cache'
import type { IndexStatus } from '#chains/indexer/status.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'
import type { Answer } from '#route/route.ts'
import { revisionAt } from './meta.ts'

type Outcome = Answer | Refusal

export interface AnswerCacheDeps {
  readonly clock: Clock
  readStatus(): Promise<IndexStatus | undefined>
}

/** Together with the state, identifies an answer. */
export interface Question {
  readonly operationId: string
  readonly parameters: string
  readonly representation: 'json' | 'csv' | 'text'
}

export interface RegisterState {
  readonly status: IndexStatus
  readonly nowUnix: number
  /** Changes whenever an answer's body may, except for elapsed seconds. */
  readonly revision: string
}

interface Kept {
  readonly shown: string
  readonly outcome: Promise<Outcome>
}

/** The maximum age of answers, 304s and readiness reports. */
export const AGE_MAX_MS = 100

/** A series of ten years takes up to 1 MB, most answers a few KB. */
const BYTES_MAX = 64_000_000

/** Overhead per entry. */
const ENTRY_BYTES = 1_000

export class AnswerCache {
  readonly #deps: AnswerCacheDeps
  readonly #answers = new LRUCache<string, Kept>({ maxSize: BYTES_MAX })
  #state: Promise<RegisterState | undefined> | undefined
  #readMs = Number.NEGATIVE_INFINITY

  constructor(deps: AnswerCacheDeps) {
    this.#deps = deps
  }

  /** The state is at most `AGE_MAX_MS` old; undefined before the first blocks. */
  state(): Promise<RegisterState | undefined> {
    const now = this.#deps.clock()
    // A clock set back must not extend the age.
    if (this.#state !== undefined && Math.abs(now - this.#readMs) <= AGE_MAX_MS) return this.#state
    const reading = this.#readState(now)
    this.#readMs = now
    this.#state = reading
    reading.catch(() => {
      if (this.#state === reading) this.#state = undefined
    })
    return reading
  }

  /** The register has changed. */
  forgetState(): void {
    this.#state = undefined
  }

  async #readState(nowMs: number): Promise<RegisterState | undefined> {
    const status = await this.#deps.readStatus()
    if (status === undefined) return undefined
    const nowUnix = Math.floor(nowMs / 1_000)
    return { status, nowUnix, revision: revisionAt(status, nowUnix) }
  }

  get(
    { operationId, parameters, representation }: Question,
    { revision, nowUnix }: RegisterState,
    make: () => Promise<Outcome>,
  ): Promise<Outcome> {
    // The second is part of the key: `meta.lagSeconds` advances while the index stands still.
    const shown = `${revision} ${nowUnix}`
    const key = `${operationId} ${representation} ${parameters}`
    const known = this.#answers.get(key)
    if (known?.shown === shown) return known.outcome
    const kept = { shown, outcome: make() }
    this.#answers.set(key, kept, { size: ENTRY_BYTES })
    kept.outcome.then(
      (outcome) => {
        if (this.#answers.peek(key) !== kept) return
        // Read from a newer state: after a reorg back to this one, it would be wrong.
        if (!isOf(outcome, revision)) this.#answers.delete(key)
        // A new object, or the cache would not update its size.
        else this.#answers.set(key, { ...kept }, { size: ENTRY_BYTES + bytesOf(outcome) })
      },
      () => {
        if (this.#answers.peek(key) === kept) this.#answers.delete(key)
      },
    )
    return kept.outcome
  }
}

function isOf(outcome: Outcome, revision: string): boolean {
  return outcome.kind !== 'answer' || (outcome.revision ?? revision).endsWith(revision)
}

function bytesOf(outcome: Outcome): number {
  return outcome.kind === 'answer' && typeof outcome.body === 'string'
    ? Buffer.byteLength(outcome.body)
    : 0
}
