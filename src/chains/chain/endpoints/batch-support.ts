import { EndpointError, type FailureKind } from './endpoint-error.ts'

/** Then tries a single call, if no batch ever worked. */
const FAILURES_MAX = 3

/** JSON-RPC 2.0, 5.1: -32600 is "Invalid Request". */
const NO_BATCHES = /\bbatch|invalid request|HTTP 405/i

const OTHER_REASONS: readonly FailureKind[] = ['too-fast', 'too-large', 'behind', 'aborted']

const TRY_AGAIN_AFTER = 50

/**
 * One or two calls per request. Once a batch has worked, batching stays: a stray refusal must not
 * disable the check that the second call makes.
 */
export class BatchSupport {
  #hasTakenTwo = false
  #failuresInRow = 0
  #takenAlone = 0

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
    if (wasAlone) this.#failuresInRow = 0
    else if (NO_BATCHES.test(message)) this.#failuresInRow = FAILURES_MAX
    else this.#failuresInRow += 1
  }
}
