import assert from 'node:assert/strict'
import type { Position } from '#chains/chain/chain-event.ts'
import { allEnded } from '#lib/async.ts'
import type { Change, HistoryFold, Staged, Store } from '../dataset.ts'
import { readFinalized } from '../positions.ts'
import type { Anomaly, Segment } from '../segment.ts'
import {
  applySegment,
  applyStaged,
  type CommitDeps,
  type Facts,
  storeAnomalies,
  transact,
  type Work,
} from '../transaction.ts'
import { type Backfill, endBackfill, readBackfill, writeBackfill } from './backfill-row.ts'

export interface Folded {
  readonly stores: readonly Store[]
  readonly anomalies: readonly Anomaly[]
}

export async function commitOlder(
  deps: CommitDeps,
  input: {
    readonly chainId: number
    readonly backfill: Backfill
    readonly segment: Segment
    readonly due: Folded | undefined
  },
): Promise<Backfill> {
  const { chainId, segment, due } = input
  const { number, hash, timestamp } = segment.end
  const end = { number, hash, timestamp }
  const { read, folded } = input.backfill
  const isNew = segment.staged.length > 0
  const backfill = {
    ...input.backfill,
    read: isNew ? end : read,
    folded: due === undefined ? folded : end,
  }
  const isOlder = end.timestamp < backfill.newestFrom.timestamp
  await transactOlder(deps, { ...input, isOlder }, async (change) => {
    await writeBackfill(change.connection, chainId, backfill)
    await applySegment(change, segment)
    if (due !== undefined) await storeFolded(change, due)
  })
  return backfill
}

export async function commitFolded(
  deps: CommitDeps,
  input: {
    readonly chainId: number
    readonly backfill: Backfill
    readonly end: Position
    readonly due: Folded
  },
): Promise<Backfill> {
  const { number, hash, timestamp } = input.end
  const backfill = { ...input.backfill, folded: { number, hash, timestamp } }
  await transactOlder(deps, { ...input, isOlder: true }, async (change) => {
    await writeBackfill(change.connection, input.chainId, backfill)
    await storeFolded(change, input.due)
  })
  return backfill
}

async function storeFolded(change: Change, { stores, anomalies }: Folded): Promise<void> {
  for (const store of stores) await store(change)
  await storeAnomalies(change.connection, anomalies)
}

/** Ends a backfill that has reached the position. */
export async function commitMeeting(
  deps: CommitDeps,
  input: {
    readonly chainId: number
    readonly backfill: Backfill
    readonly folds: readonly HistoryFold[]
    readonly staged: readonly Staged[]
    readonly anomalies: readonly Anomaly[]
  },
): Promise<void> {
  const facts = { ...input, isOlder: false, feeding: 'anew' } as const
  await transactOlder(deps, facts, async (change) => {
    await endBackfill(change.connection, input.chainId)
    for (const fold of input.folds) await fold.complete(change)
    await applyStaged(change, input.staged)
    await storeAnomalies(change.connection, input.anomalies)
  })
}

async function transactOlder(
  deps: CommitDeps,
  input: Omit<Facts, 'finalizedNumber'> & { readonly backfill: Backfill },
  work: Work,
): Promise<void> {
  const { chainId, backfill, isOlder, feeding = 'none' } = input
  await transact(
    deps,
    async (connection) => {
      const [stored, finalizedNumber] = await allEnded([
        readBackfill(connection, chainId),
        readFinalized(connection, chainId),
      ])
      assert(
        stored?.read.hash === backfill.read.hash && stored.folded.hash === backfill.folded.hash,
        `another process moved the backfill of chain ${chainId} during a commit`,
      )
      return { chainId, finalizedNumber, isOlder, feeding }
    },
    work,
  )
}
