import assert from 'node:assert/strict'
import { LRUCache } from 'lru-cache'
import type { Caller } from '#domain/caller.ts'
import { startOfDay, unixNow } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import { type Admission, type Meter, MeteringUnavailable, type MeterState } from './admission.ts'
import { type BatchWriterDeps, type WaitingCall, writeBatch } from './batch-writer.ts'
import { GroupCommit } from './group-commit.ts'

export interface MeterDeps extends BatchWriterDeps {
  /** The same store by other connections, for batches; `engine` unless given. */
  readonly admissions?: Engine | undefined
  readonly onCommit?: (seconds: number) => void
}

/** A forgotten caller causes the work of one more call. */
const REFUSED_MAX = 20_000

/** Commits in groups: requests that arrive during a batch form the next, answered once durable. */
export function createMeter(deps: MeterDeps): Meter {
  assert(deps.pricePerCall > 0n, 'a paid call has a price above zero')
  const { admissions: engine = deps.engine } = deps
  const refusedDay = new LRUCache<string, number>({ max: REFUSED_MAX })
  const today = () => startOfDay(unixNow(deps.clock))
  const commits = new GroupCommit<WaitingCall>({
    decide: (batch, onCommitted) => writeBatch({ ...deps, engine }, batch, onCommitted),
    onCommit: deps.onCommit,
  })
  const add = (waiting: WaitingCall) => {
    if (!commits.add(waiting)) waiting.reject(new MeteringUnavailable('the metering queue is full'))
  }
  return {
    waiting: () => commits.size,
    admit: (caller: Caller, isCut = () => false) =>
      new Promise<Admission>((resolve, reject) => {
        const decided = (admission: Admission) => {
          if (admission.kind !== 'admitted') refusedDay.set(caller.identity, today())
          else if (refusedDay.size > 0) refusedDay.delete(caller.identity)
          resolve(admission)
        }
        add({ kind: 'admit', caller, isCut, resolve: decided, reject })
      }),
    rateLimit: (caller: Caller) =>
      new Promise<MeterState>((resolve, reject) => {
        add({ kind: 'rate-limit', caller, resolve, reject })
      }),
    wasRefused: ({ identity }) => refusedDay.size > 0 && refusedDay.get(identity) === today(),
  }
}
