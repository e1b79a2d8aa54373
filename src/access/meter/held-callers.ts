import { MeteringUnavailable } from './admission.ts'
import { BatchWriter, type BatchWriterDeps, type WaitingCall } from './batch-writer.ts'
import { GroupCommit } from './group-commit.ts'

export interface HeldCallersDeps extends BatchWriterDeps {
  /** Takes calls of a caller whose rows are free again. */
  readonly onFree: (call: WaitingCall) => void
}

/** The rest of the pool is for other callers. */
const ATTEMPTS_MAX = 4

/** Above the lock timeout, so that healthy callers get their turn among many held rows. */
const WAIT_MAX_MS = 3_000

/** Far more than one statement locks by mistake; a forgotten caller costs one more timeout. */
const CALLERS_MAX = 10_000

const CALLS_MAX = 20_000

/** Separates callers whose rows another session locks, so that others need not wait. */
export class HeldCallers {
  readonly lines = new Map<string, GroupCommit<WaitingCall>>()
  readonly #deps: HeldCallersDeps
  readonly #queue: ((writer: BatchWriter) => void)[] = []
  readonly #idle: BatchWriter[] = []
  #writers = 0
  #calls = 0

  constructor(deps: HeldCallersDeps) {
    this.#deps = deps
  }

  add(call: WaitingCall): void {
    const { bucket } = call.caller
    const line = this.lines.get(bucket) ?? this.#open(bucket)
    if (this.#calls >= CALLS_MAX || !line.add(call))
      call.reject(new MeteringUnavailable('too many calls wait for held rows'))
    else this.#calls += 1
  }

  #open(bucket: string): GroupCommit<WaitingCall> {
    const line: GroupCommit<WaitingCall> = new GroupCommit({
      decide: (calls) => this.#decide({ bucket, line }, calls),
    })
    this.lines.set(bucket, line)
    for (const oldest of this.lines.keys()) {
      if (this.lines.size <= CALLERS_MAX) break
      this.lines.delete(oldest)
    }
    return line
  }

  async #decide(
    { bucket, line }: { readonly bucket: string; readonly line: GroupCommit<WaitingCall> },
    calls: readonly WaitingCall[],
  ): Promise<void> {
    const { clock, onFree } = this.#deps
    const since = clock()
    const writer = await this.#begin()
    const isLate = clock() - since > WAIT_MAX_MS
    const outcome = isLate ? 'held' : await writer.decide(calls, () => undefined)
    this.#end(writer)
    const later = line.takeWaiting()
    this.#calls -= calls.length + later.length
    if (outcome === 'answered') {
      if (this.lines.get(bucket) === line) this.lines.delete(bucket)
      for (const each of later) onFree(each)
      return
    }
    const error = new MeteringUnavailable("another session holds a row of the caller's")
    for (const each of [...calls, ...later]) each.reject(error)
  }

  /** One name per writer, so that attempts do not wait for each other on the meter's row. */
  async #begin(): Promise<BatchWriter> {
    const idle = this.#idle.pop()
    if (idle !== undefined) return idle
    if (this.#writers >= ATTEMPTS_MAX) return new Promise((resolve) => this.#queue.push(resolve))
    this.#writers += 1
    return new BatchWriter({ ...this.#deps, name: `${this.#deps.name}:held:${this.#writers}` })
  }

  #end(writer: BatchWriter): void {
    const next = this.#queue.shift()
    if (next === undefined) this.#idle.push(writer)
    else next(writer)
  }
}
