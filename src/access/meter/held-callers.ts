import { MeteringUnavailable } from './admission.ts'
import { BatchWriter, type BatchWriterDeps, type WaitingCall } from './batch-writer.ts'
import { GroupCommit } from './group-commit.ts'

/** Leaves the rest of the pool to other callers. */
const ATTEMPTS_MAX = 4

/** Bounds the delay that many held rows cause. */
const WAIT_MAX_MS = 2_000

/** Far more than one statement locks by mistake; a forgotten caller costs one more lock timeout. */
const CALLERS_MAX = 10_000

/**
 * Separates callers whose rows another session locks, so that only their calls wait. They return to
 * the common batches once counted.
 */
export class HeldCallers {
  /** By bucket, the oldest first. */
  readonly lines = new Map<string, GroupCommit<WaitingCall>>()
  readonly #deps: BatchWriterDeps
  readonly #queue: (() => void)[] = []
  #running = 0
  #attempts = 0

  constructor(deps: BatchWriterDeps) {
    this.#deps = deps
  }

  add(call: WaitingCall): void {
    const { bucket } = call.caller
    const line = this.lines.get(bucket) ?? this.#open(bucket)
    if (!line.add(call)) call.reject(new MeteringUnavailable('too many calls wait for a held row'))
  }

  #open(bucket: string): GroupCommit<WaitingCall> {
    const line = new GroupCommit<WaitingCall>({ decide: (calls) => this.#decide(bucket, calls) })
    this.lines.set(bucket, line)
    for (const oldest of this.lines.keys()) {
      if (this.lines.size <= CALLERS_MAX) break
      this.lines.delete(oldest)
    }
    return line
  }

  async #decide(bucket: string, calls: readonly WaitingCall[]): Promise<void> {
    const { clock } = this.#deps
    const since = clock()
    await this.#begin()
    try {
      const isLate = clock() - since > WAIT_MAX_MS
      const outcome = isLate ? 'held' : await this.#attempt(calls)
      if (outcome === 'answered') this.lines.delete(bucket)
      const error = new MeteringUnavailable("another session holds a row of the caller's")
      if (outcome === 'held') for (const each of calls) each.reject(error)
    } finally {
      this.#end()
    }
  }

  /** With its own name, so that attempts do not wait for each other on the meter's row. */
  #attempt(calls: readonly WaitingCall[]): Promise<'answered' | 'held'> {
    this.#attempts += 1
    const name = `${this.#deps.name}:held:${this.#attempts}`
    return new BatchWriter({ ...this.#deps, name }).decide(calls, () => undefined)
  }

  async #begin(): Promise<void> {
    if (this.#running < ATTEMPTS_MAX) this.#running += 1
    else await new Promise<void>((resolve) => this.#queue.push(resolve))
  }

  /** Passes the slot to the oldest waiting attempt. */
  #end(): void {
    const next = this.#queue.shift()
    if (next === undefined) this.#running -= 1
    else next()
  }
}
