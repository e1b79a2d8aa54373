import { EndpointError, type FailureKind } from './endpoint-error.ts'

/** Failures in a row of an endpoint that never answered two calls at once, until one call alone is tried. */
const FAILURES_MAX = 3

/** What an endpoint says that takes no batches (JSON-RPC 2.0, 5.1: -32600 is "Invalid Request"). */
const NO_BATCHES = /\bbatch|invalid request|HTTP 405/i

/** Failures that say nothing about how many calls were asked at once. */
const OTHER_REASONS: readonly FailureKind[] = ['too-fast', 'too-large', 'behind', 'aborted']

/** Answers to one call alone, until two at once are tried again. */
const TRY_AGAIN_AFTER = 50

/**
 * Whether an endpoint is asked two calls at once or one alone. What it has taken once it takes for ever:
 * a stray refusal must not turn off what the second call guards against.
 */
export class AskingManner {
  #hasTakenTwo = false
  #failuresInRow = 0
  #takenAlone = 0

  /** Asks in the present manner, and learns from what comes of it. */
  async learn<T>(ask: (isAlone: boolean) => Promise<T>): Promise<T> {
    const isAlone = !this.#hasTakenTwo && this.#failuresInRow >= FAILURES_MAX
    try {
      const answer = await ask(isAlone)
      this.#answered(isAlone)
      return answer
    } catch (error) {
      if (error instanceof EndpointError) this.#failed(error, isAlone)
      throw error
    }
  }

  #answered(wasAlone: boolean): void {
    if (!wasAlone) this.#hasTakenTwo = true
    else this.#takenAlone += 1
    if (wasAlone && this.#takenAlone % TRY_AGAIN_AFTER === 0) this.#failuresInRow = FAILURES_MAX - 1
  }

  #failed({ kind, message }: EndpointError, wasAlone: boolean): void {
    if (kind === 'behind') this.#hasTakenTwo = true
    if (OTHER_REASONS.includes(kind)) return
    // Where one call alone fails too, it was not for their number.
    if (wasAlone) this.#failuresInRow = 0
    else if (NO_BATCHES.test(message)) this.#failuresInRow = FAILURES_MAX
    else this.#failuresInRow += 1
  }
}
