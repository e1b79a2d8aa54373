import assert from 'node:assert/strict'
import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { type Clock, startOfDay, unixNow } from '#lib/time.ts'
import { type Connection, type Engine, LockTimeoutError } from '#store/engine.ts'
import { type Admission, ConnectionCut, MeteringUnavailable, type MeterState } from './admission.ts'
import { decideBatch } from './decide-batch.ts'
import { nameBlockers } from './name-blockers.ts'

export interface BatchWriterDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly pricePerCall: MicroUsd
  readonly report?: (error: unknown) => void
}

export type WaitingCall =
  | ({ readonly kind: 'admit'; readonly caller: Caller; isCut(): boolean } & Waiter<Admission>)
  | ({ readonly kind: 'rate-limit'; readonly caller: Caller } & Waiter<MeterState>)

interface Waiter<T> {
  resolve(value: T): void
  reject(error: MeteringUnavailable | ConnectionCut): void
}

/** Resolves or rejects every call of the batch. Never rejects itself. `onCommitted` as in `GroupCommit`. */
export async function writeBatch(
  deps: BatchWriterDeps,
  batch: readonly WaitingCall[],
  onCommitted: () => void,
): Promise<void> {
  const standing = batch.filter(stands)
  if (standing.length === 0) return
  const admits = standing.filter((each) => each.kind === 'admit')
  const asked = standing.filter((each) => each.kind === 'rate-limit')
  const { engine, clock, pricePerCall } = deps
  const decide = (connection: Connection) =>
    decideBatch(connection, {
      day: startOfDay(unixNow(clock)),
      pricePerCall,
      admits: admits.map((each) => each.caller),
      readers: asked.map((each) => each.caller),
    })
  try {
    const decided = await (admits.length > 0
      ? engine.write(decide, onCommitted)
      : engine.snapshot(decide))
    resolveAll(admits, decided.admissions)
    resolveAll(asked, decided.rateLimits)
  } catch (cause) {
    if (cause instanceof LockTimeoutError) void reportBlockers(deps, cause)
    // A commit that stood although its reply was lost stays charged.
    const error = new MeteringUnavailable('cannot count calls in the accounts store', { cause })
    for (const each of standing) each.reject(error)
  }
}

async function reportBlockers(
  { engine, report }: BatchWriterDeps,
  cause: LockTimeoutError,
): Promise<void> {
  const blockers = await nameBlockers(engine).catch(() => 'unknown')
  report?.(
    new Error(`another session holds a row of the accounts; calls get 503: ${blockers}`, { cause }),
  )
}

/** Whether an answer can reach the client still; its call is rejected otherwise. */
function stands(waiting: WaitingCall): boolean {
  if (waiting.kind !== 'admit' || !waiting.isCut()) return true
  waiting.reject(new ConnectionCut('the client left before its call was charged'))
  return false
}

function resolveAll<T>(waiting: readonly Waiter<T>[], values: readonly T[]): void {
  for (const [index, each] of waiting.entries()) {
    const value = values[index]
    assert(value !== undefined, 'a decision for every request of the batch')
    each.resolve(value)
  }
}
