import { LRUCache } from 'lru-cache'
import type { Refusal } from '#domain/refusal.ts'
import type { IndexStatus } from '#indexer/status.ts'
import type { Clock } from '#lib/time.ts'
import type { Answer } from '#route/route.ts'
import { revisionAt } from './meta.ts'

type Outcome = Answer | Refusal

export interface AnswerCacheDeps {
  readonly clock: Clock
  readStatus(): Promise<IndexStatus | undefined>
}

/** What tells one answer from another, besides the state that it shows. */
export interface Question {
  readonly operationId: string
  /** The effective parameters as one text. */
  readonly parameters: string
  readonly representation: 'json' | 'csv'
}

/** One state of the register, and when it was read. */
export interface RegisterState {
  readonly status: IndexStatus
  readonly nowUnix: number
  /** Changes whenever the body of an answer may, other than by the passing of seconds. */
  readonly revision: string
}

interface Kept {
  /** The state and the second. */
  readonly shown: string
  readonly outcome: Promise<Outcome>
}

/** An answer, a 304 and a readiness report may be this much older than the register. */
export const AGE_MAX_MS = 100

/** A series of ten years has up to 1 MB; lists and totals have a few KB. */
const BYTES_MAX = 64_000_000

/** What an entry costs besides its body. */
const ENTRY_BYTES = 1_000

/**
 * Answers by endpoint, effective parameters, representation and state of the register: the same
 * question about the same state is read and serialized once, also when many ask at the same moment.
 */
export class AnswerCache {
  readonly #deps: AnswerCacheDeps
  readonly #answers = new LRUCache<string, Kept>({ maxSize: BYTES_MAX })
  #state: Promise<RegisterState | undefined> | undefined
  #readMs = Number.NEGATIVE_INFINITY

  constructor(deps: AnswerCacheDeps) {
    this.#deps = deps
  }

  /** The register as it stood at most `AGE_MAX_MS` ago; undefined before its first blocks. */
  state(): Promise<RegisterState | undefined> {
    const now = this.#deps.clock()
    // A clock that was set back must not prolong what is held.
    if (this.#state !== undefined && Math.abs(now - this.#readMs) <= AGE_MAX_MS) return this.#state
    const reading = this.#readState(now)
    this.#readMs = now
    this.#state = reading
    reading.catch(() => {
      if (this.#state === reading) this.#state = undefined
    })
    return reading
  }

  async #readState(nowMs: number): Promise<RegisterState | undefined> {
    const status = await this.#deps.readStatus()
    if (status === undefined) return undefined
    const nowUnix = Math.floor(nowMs / 1_000)
    return { status, nowUnix, revision: revisionAt(status, nowUnix) }
  }

  /** The answer about this state, made if it is not there. A failure is not kept. */
  get(
    question: Question,
    { revision, nowUnix }: RegisterState,
    make: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const { operationId, parameters, representation } = question
    const key = `${operationId} ${representation} ${parameters}`
    // The second too: `meta.lagSeconds` counts on while the index stands.
    const shown = `${revision} ${nowUnix}`
    const known = this.#answers.get(key)
    if (known?.shown === shown) return known.outcome
    const kept = { shown, outcome: make() }
    this.#answers.set(key, kept, { size: ENTRY_BYTES })
    kept.outcome.then(
      (outcome) => {
        if (this.#answers.peek(key) !== kept) return
        // Read from a newer state: under this one it would outlive it where a reorg comes back.
        if (!isOf(outcome, revision)) this.#answers.delete(key)
        // A new object: the cache does not weigh the same one again.
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
