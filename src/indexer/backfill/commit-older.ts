import assert from 'node:assert/strict'
import type { Position } from '#chain/chain-event.ts'
import { allEnded } from '#lib/all-ended.ts'
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

/** What was folded in memory since it was last stored, with the logs that could not be read. */
export interface Folded {
  readonly stores: readonly Store[]
  readonly anomalies: readonly Anomaly[]
}

/**
 * Stores a segment of the older history, below the position, which does not move; what is folded in
 * memory with it only where it is due.
 */
export async function commitOlder(
  deps: CommitDeps,
  input: {
    readonly chainId: number
    readonly backfill: Backfill
    readonly segment: Segment
    /** What is folded in memory, where it is due to be stored. */
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
  const isOlder = end.timestamp < backfill.floor.timestamp
  await transactOlder(deps, { ...input, isOlder }, async (change) => {
    await writeBackfill(change.connection, chainId, backfill)
    await applySegment(change, segment)
    if (due !== undefined) await storeFolded(change, due)
  })
  return backfill
}

/** Stores all that was folded in memory, up to the block where it ends. */
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

/** Ends the reading of older history: it has met the position. Brings what was left out above it. */
export async function commitMeeting(
  deps: CommitDeps,
  input: {
    readonly chainId: number
    readonly backfill: Backfill
    /** All that they folded is stored. */
    readonly folds: readonly HistoryFold[]
    /** Facts of the blocks above the older history, of the datasets that waited for it. */
    readonly staged: readonly Staged[]
    readonly anomalies: readonly Anomaly[]
  },
): Promise<void> {
  await transactOlder(deps, { ...input, isOlder: false }, async (change) => {
    await endBackfill(change.connection, input.chainId)
    for (const fold of input.folds) await fold.complete(change)
    await applyStaged(change, input.staged)
    await storeAnomalies(change.connection, input.anomalies)
  })
}

async function transactOlder(
  deps: CommitDeps,
  input: Pick<Facts, 'chainId' | 'isOlder'> & { readonly backfill: Backfill },
  work: Work,
): Promise<void> {
  const { chainId, backfill, isOlder } = input
  await transact(
    deps,
    async (connection) => {
      const [stored, finalizedNumber] = await allEnded([
        readBackfill(connection, chainId),
        readFinalized(connection, chainId),
      ])
      assert(
        stored?.read.hash === backfill.read.hash && stored.folded.hash === backfill.folded.hash,
        `the older history of chain ${chainId} moved under a commit`,
      )
      return { chainId, finalizedNumber, isOlder }
    },
    work,
  )
}
