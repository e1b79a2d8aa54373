import assert from 'node:assert/strict'
import { MeteringUnavailable } from './admission.ts'

/** Requests decided at once and not yet on disk: what a commit of unknown outcome may leave charged. */
const BATCH_MAX = 256

/** More cannot be served within a request's time; includes the batch at work. */
const WAITING_MAX = 20_000

interface Waiting<Request, Result> {
  readonly request: Request
  resolve(result: Result): void
  reject(error: unknown): void
}

/** Works on one batch at a time, in order of arrival: what arrives meanwhile forms the next. */
export class BatchQueue<Request, Result> {
  readonly #work: (batch: readonly Request[]) => Promise<readonly Result[]>
  #waiting: Waiting<Request, Result>[] = []
  #atWork = 0

  /** `work` returns a result for each request; if it rejects, all of the batch do. */
  constructor(work: (batch: readonly Request[]) => Promise<readonly Result[]>) {
    this.#work = work
  }

  get size(): number {
    return this.#waiting.length + this.#atWork
  }

  add(request: Request): Promise<Result> {
    if (this.size >= WAITING_MAX)
      return Promise.reject(new MeteringUnavailable('too many calls wait to be counted'))
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const isIdle = this.size === 0
    this.#waiting.push({ request, resolve, reject })
    if (isIdle) void this.#run()
    return promise
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Requests that the system has at hand arrive in the same turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve))
      const batch = this.#waiting.splice(0, BATCH_MAX)
      this.#atWork = batch.length
      await this.#settle(batch)
      this.#atWork = 0
    }
  }

  async #settle(batch: readonly Waiting<Request, Result>[]): Promise<void> {
    try {
      const results = await this.#work(batch.map(({ request }) => request))
      assert.equal(results.length, batch.length, 'a result for each request of the batch')
      for (const [index, result] of results.entries()) batch[index]?.resolve(result)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}
