import { LRUCache } from 'lru-cache'
import type { Refusal } from '#domain/refusal.ts'
import type { Answer } from '#http/route.ts'
import type { IndexStatus } from '#indexer/status.ts'
import { type Clock, unixNow } from '#lib/clock.ts'
import { revisionAt } from './meta.ts'

type Outcome = Answer | Refusal

export interface ReadyAnswersDeps {
  readonly clock: Clock
  recentStatus(): Promise<IndexStatus | undefined>
}

interface Ready {
  readonly revision: string
  readonly madeAtMs: number
  readonly outcome: Promise<Outcome>
}

/** Distinct questions of a route that are asked at about the same time. */
const ANSWERS_MAX = 500

/** `meta.lagSeconds` of an answer may be this old, whatever the index does. */
const AGE_MAX_MS = 1_000

/**
 * Answers of one route as ready text: the same question at the same index height is read and
 * serialized once, also when many ask at the same moment.
 */
export class ReadyAnswers {
  readonly #deps: ReadyAnswersDeps
  readonly #answers = new LRUCache<string, Ready>({ max: ANSWERS_MAX })

  constructor(deps: ReadyAnswersDeps) {
    this.#deps = deps
  }

  async get(question: string, make: () => Promise<Outcome>): Promise<Outcome> {
    const status = await this.#deps.recentStatus()
    if (status === undefined) return make()
    const now = this.#deps.clock()
    const revision = revisionAt(status, unixNow(this.#deps.clock))
    const known = this.#answers.get(question)
    if (known?.revision === revision && Math.abs(now - known.madeAtMs) <= AGE_MAX_MS)
      return known.outcome
    const outcome = make()
    this.#answers.set(question, { revision, madeAtMs: now, outcome })
    outcome.catch(() => this.#answers.delete(question))
    return outcome
  }
}
