import assert from 'node:assert/strict'
import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { type Clock, startOfDay, unixNow } from '#lib/time.ts'
import { type Connection, type Engine, LockTimeoutError } from '#store/engine.ts'
import {
  type Admission,
  type Charge,
  ConnectionCut,
  MeteringUnavailable,
  type MeterState,
} from './admission.ts'
import { type Batch, type Decisions, decideBatch } from './decide-batch.ts'
import { nameBlockers } from './name-blockers.ts'
import { UnknownCommits } from './unknown-commits.ts'

export interface BatchWriterDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly pricePerCall: MicroUsd
  /** Unique for ever; with a count it names batches. */
  readonly name: string
  readonly report?: (error: unknown) => void
}

export type WaitingCall =
  | ({ readonly kind: 'admit'; readonly caller: Caller; isCut(): boolean } & Waiter<Admission>)
  | ({ readonly kind: 'rate-limit'; readonly caller: Caller } & Waiter<MeterState>)

interface Waiter<T> {
  resolve(value: T): void
  reject(error: MeteringUnavailable | ConnectionCut): void
}

/** Numbers batches, so that a lost response leaves no doubt whether the newest was committed. */
export class BatchWriter {
  readonly #deps: BatchWriterDeps
  /** Made by the first one. */
  #unknown: UnknownCommits | undefined
  #batches = 0

  constructor(deps: BatchWriterDeps) {
    this.#deps = deps
  }

  /** Resolves or rejects every call of the batch. Never rejects itself. `onCommitted` as in `GroupCommit`. */
  async decide(batch: readonly WaitingCall[], onCommitted: () => void): Promise<void> {
    const standing = batch.filter(stands)
    if (standing.length === 0) return
    const admits = standing.filter((each) => each.kind === 'admit')
    const asked = standing.filter((each) => each.kind === 'rate-limit')
    const input = this.#next(admits, asked)
    const outcome: Outcome = { decided: undefined, stands: false }
    try {
      // The next batch overwrites the mark that shows whether the last one was committed.
      if (admits.length > 0 && this.#unknown !== undefined) await this.#unknown.end()
      const decide = async (connection: Connection) => {
        outcome.decided = await decideBatch(connection, input)
        return outcome.decided
      }
      const committed = () => {
        outcome.stands = true
        onCommitted()
      }
      const { engine } = this.#deps
      const decided = await (admits.length > 0
        ? engine.write(decide, committed)
        : engine.snapshot(decide))
      resolveAll(admits, decided.admissions)
      resolveAll(asked, decided.rateLimits)
    } catch (cause) {
      const { decided, stands } = outcome
      const charges = chargesOf(decided?.admissions ?? [])
      this.#unknown ??= new UnknownCommits(this.#deps)
      this.#unknown.add({ id: input.id, day: input.day, charges, stands })
      if (cause instanceof LockTimeoutError) void this.#reportBlockers(cause)
      const error = new MeteringUnavailable('cannot count calls in the accounts store', { cause })
      for (const each of batch) each.reject(error)
    }
  }

  #next(admits: readonly WaitingCall[], asked: readonly WaitingCall[]): Batch {
    const { name, clock, pricePerCall } = this.#deps
    this.#batches += 1
    return {
      id: { meter: name, number: this.#batches },
      day: startOfDay(unixNow(clock)),
      pricePerCall,
      admits: admits.map((each) => each.caller),
      readers: asked.map((each) => each.caller),
    }
  }

  async #reportBlockers(cause: LockTimeoutError): Promise<void> {
    const { engine, report } = this.#deps
    const blockers = await nameBlockers(engine).catch(() => 'unknown')
    report?.(
      new Error(`another session holds a row of the accounts; calls get 503: ${blockers}`, {
        cause,
      }),
    )
  }
}

/** Whether an answer can reach the client still; its call is rejected otherwise. */
function stands(waiting: WaitingCall): boolean {
  if (waiting.kind !== 'admit' || !waiting.isCut()) return true
  waiting.reject(new ConnectionCut('the client left before its call was charged'))
  return false
}

interface Outcome {
  decided: Decisions | undefined
  stands: boolean
}

function chargesOf(admissions: readonly Admission[]): readonly Charge[] {
  return admissions.flatMap((each) => (each.kind === 'admitted' ? [each.charge] : []))
}

function resolveAll<T>(waiting: readonly Waiter<T>[], values: readonly T[]): void {
  for (const [index, each] of waiting.entries()) {
    const value = values[index]
    assert(value !== undefined, 'a decision for every request of the batch')
    each.resolve(value)
  }
}
