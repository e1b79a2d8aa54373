import { LRUCache } from 'lru-cache'
import type { Refusal } from '#domain/refusal.ts'
import type { Answer } from '#http/route.ts'
import type { IndexStatus } from '#indexer/status.ts'
import type { Clock } from '#lib/clock.ts'
import { revisionAt } from './meta.ts'

type Outcome = Answer | Refusal

export interface ReadyAnswersDeps {
  readonly clock: Clock
  recentStatus(): Promise<IndexStatus | undefined>
}

interface Ready {
  readonly revision: string
  readonly madeAtMs: number
  /** The answer itself as soon as it is made. */
  readonly outcome: Outcome | Promise<Outcome>
}

/** Distinct questions of a route that are asked at about the same time. */
const ANSWERS_MAX = 500

/** Characters of a route's answers; a series of ten years has up to a million. */
const CHARACTERS_MAX = 16_000_000

/** `meta.lagSeconds` of an answer may be this old, whatever the index does. */
const AGE_MAX_MS = 1_000

/**
 * Answers of one route as ready text: the same question at the same index height is read and
 * serialized once, also when many ask at the same moment.
 */
export class ReadyAnswers {
  readonly #deps: ReadyAnswersDeps
  readonly #answers = new LRUCache<string, Ready>({ max: ANSWERS_MAX, maxSize: CHARACTERS_MAX })
  #asking: Promise<IndexStatus | undefined> | undefined
  #status: IndexStatus | undefined
  #revision = { status: undefined as IndexStatus | undefined, nowUnix: 0, text: '' }

  constructor(deps: ReadyAnswersDeps) {
    this.#deps = deps
  }

  /** What is ready is given at once when the status is the one that was read last. */
  get(question: string, make: () => Promise<Outcome>): Outcome | Promise<Outcome> {
    const asking = this.#deps.recentStatus()
    if (asking === this.#asking && this.#status !== undefined)
      return this.#at(this.#status, question, make)
    return this.#afterStatus(asking, question, make)
  }

  async #afterStatus(
    asking: Promise<IndexStatus | undefined>,
    question: string,
    make: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const status = await asking
    if (status === undefined) return make()
    this.#asking = asking
    this.#status = status
    return this.#at(status, question, make)
  }

  #at(
    status: IndexStatus,
    question: string,
    make: () => Promise<Outcome>,
  ): Outcome | Promise<Outcome> {
    const now = this.#deps.clock()
    const revision = this.#revisionAt(status, Math.floor(now / 1000))
    const known = this.#answers.get(question)
    if (known?.revision === revision && Math.abs(now - known.madeAtMs) <= AGE_MAX_MS)
      return known.outcome
    const making = make()
    this.#keep(question, { revision, madeAtMs: now, outcome: making }, making)
    return making
  }

  /** What is made takes the place of what is being made, since only then its size is known. */
  #keep(question: string, ready: Ready, making: Promise<Outcome>): void {
    const isNewest = () => this.#answers.peek(question) === ready
    this.#answers.set(question, ready, { size: 1 })
    making.then(
      (outcome) => {
        if (isNewest())
          this.#answers.set(question, { ...ready, outcome }, { size: sizeOf(outcome) })
      },
      () => {
        if (isNewest()) this.#answers.delete(question)
      },
    )
  }

  /** Made once a second for each status. */
  #revisionAt(status: IndexStatus, nowUnix: number): string {
    if (this.#revision.status !== status || this.#revision.nowUnix !== nowUnix)
      this.#revision = { status, nowUnix, text: revisionAt(status, nowUnix) }
    return this.#revision.text
  }
}

function sizeOf(outcome: Outcome): number {
  const isText = outcome.kind === 'answer' && typeof outcome.body === 'string'
  return isText ? Math.max(1, outcome.body.length) : 1
}
