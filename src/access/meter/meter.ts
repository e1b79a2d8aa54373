import assert from 'node:assert/strict'
import type { Caller } from '#domain/caller.ts'
import type { Engine } from '#store/engine.ts'
import {
  type Admission,
  type MeterFigures,
  MeteringUnavailable,
  type SettlingMeter,
} from './admission.ts'
import { BatchWriter, type BatchWriterDeps, type WaitingCall } from './batch-writer.ts'
import { GroupCommit } from './group-commit.ts'
import { HeldCallers } from './held-callers.ts'
import type { RefundJournal } from './refund-journal.ts'
import { RefundQueue } from './refund-queue.ts'

export interface MeterDeps extends BatchWriterDeps {
  /** The same store by other connections, for batches; `engine` unless given. */
  readonly admissions?: Engine | undefined
  readonly onBatch?: (size: number) => void
  readonly onCommit?: (seconds: number) => void
}

/** Group commit: requests that arrive during a batch form the next, answered once durable. */
export function createMeter(deps: MeterDeps): SettlingMeter {
  assert(deps.pricePerCall > 0n, 'a paid call has a price above zero')
  const { admissions: engine = deps.engine } = deps
  const writer = new BatchWriter({ ...deps, engine })
  // Its own queue, so that batches do not wait for these.
  const ofCredits = new RefundQueue(deps)
  if (deps.journal !== undefined) void resumeRefunds(deps, deps.journal)
  const held = new HeldCallers({ ...deps, onFree: (call) => add(call) })
  const isHeld = ({ kind, caller }: WaitingCall) =>
    kind === 'admit' && held.lines.has(caller.bucket)
  const commits = new GroupCommit<WaitingCall>({
    async decide(batch, onCommitted) {
      for (const each of batch) if (isHeld(each)) held.add(each)
      const shared = batch.filter((each) => !isHeld(each))
      if (shared.length === 0 || (await writer.decide(shared, onCommitted)) === 'answered') return
      for (const each of shared) if (each.kind === 'admit') held.add(each)
      const asked = shared.filter(({ kind }) => kind === 'figures')
      // Once more, alone: only a locked table delays a read.
      const isNew = asked.length > 0 && asked.length < shared.length
      if (isNew && (await writer.decide(asked, onCommitted)) === 'answered') return
      for (const each of asked) each.reject(new MeteringUnavailable('a table is locked'))
    },
    onBatch: deps.onBatch,
    onCommit: deps.onCommit,
  })
  const add = (waiting: WaitingCall) => {
    if (!commits.add(waiting)) waiting.reject(new MeteringUnavailable('the metering queue is full'))
  }
  return {
    waiting: () => commits.size,
    admit: (caller: Caller) =>
      new Promise<Admission>((resolve, reject) => {
        add({ kind: 'admit', caller, resolve, reject })
      }),
    figures: (caller: Caller) =>
      new Promise<MeterFigures>((resolve, reject) => {
        add({ kind: 'figures', caller, resolve, reject })
      }),
    refund: (receipt) => writer.refunds.add(receipt),
    refundIfAdmitted: (name, receipt) =>
      ofCredits.resolveLater({
        id: { meter: name, number: 1 },
        day: receipt.day,
        receipts: [receipt],
      }),
  }
}

/** Refunds of earlier processes, at the price charged then. */
async function resumeRefunds(deps: MeterDeps, journal: RefundJournal): Promise<void> {
  for (const [pricePerCall, left] of await journal.takeOver())
    new RefundQueue({ ...deps, pricePerCall }).resume(left)
}
