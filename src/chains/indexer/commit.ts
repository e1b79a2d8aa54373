import assert from 'node:assert/strict'
import type { ChainTip, Position } from '#chains/chain/chain-event.ts'
import type { BlockHeader, Log } from '#domain/chain.ts'
import { sql } from '#store/sql.ts'
import { type Backfill, writeBackfill } from './backfill/backfill-row.ts'
import type { Change } from './dataset.ts'
import {
  forgetBlocksAbove,
  forgetBlocksBelow,
  movePosition,
  readFinalized,
  readPosition,
  storeBlocks,
} from './positions.ts'
import type { Segment } from './segment.ts'
import {
  applySegment,
  applyStaged,
  type CommitDeps,
  stageLogs,
  storeAnomalies,
  transact,
  type Work,
} from './transaction.ts'
import { forgetReadable } from './unknown-figures.ts'

/** Stores new blocks of the head, all or nothing. */
export async function commitBlocks(
  deps: CommitDeps,
  input: {
    readonly chainId: number
    readonly expected: Position | undefined
    readonly logs: readonly Log[]
    readonly headers: readonly BlockHeader[]
    readonly tip: ChainTip
  },
): Promise<Position> {
  const { staged, anomalies } = await stageLogs(deps.datasets, input.logs)
  const to = input.headers.at(-1)
  assert(to !== undefined, 'a commit needs the block it ends with')
  await moveHead(deps, { ...input, to }, async (change) => {
    // The position moves first: which prices count as known depends on it.
    await movePosition(change.connection, { ...change, to, tip: input.tip })
    await applyStaged(change, staged)
    await storeAnomalies(change.connection, anomalies)
    await storeBlocks(change.connection, input.chainId, input.headers)
    await finalize(deps, change)
  })
  return to
}

export async function commitSegment(
  deps: CommitDeps,
  input: {
    readonly chainId: number
    readonly expected: Position | undefined
    readonly segment: Segment
    readonly tip: ChainTip
    readonly backfill: Backfill | undefined
  },
): Promise<Position> {
  const { segment, chainId, backfill } = input
  const to = segment.end
  await moveHead(deps, { ...input, to, isGap: true }, async (change) => {
    await movePosition(change.connection, { ...change, to, tip: input.tip })
    if (backfill !== undefined) await writeBackfill(change.connection, chainId, backfill)
    await applySegment(change, segment)
    await storeBlocks(change.connection, chainId, [to])
    await finalize(deps, change)
  })
  return to
}

export async function rollBack(
  deps: CommitDeps,
  input: {
    readonly chainId: number
    readonly expected: Position
    readonly ancestor: BlockHeader
    readonly tip: ChainTip
  },
): Promise<Position> {
  const { ancestor, chainId } = input
  await moveHead(deps, { ...input, to: ancestor }, async (change) => {
    for (const dataset of deps.datasets) await dataset.revert(change, ancestor)
    await change.connection.run(sql`
      delete from anomalies where chain_id = ${chainId} and block_number > ${ancestor.number}`)
    await forgetReadable(change.connection, chainId)
    await forgetBlocksAbove(change.connection, chainId, ancestor.number)
    await movePosition(change.connection, { ...change, to: ancestor, tip: input.tip })
    await change.unvalueMoved()
  })
  return ancestor
}

export async function markTip(
  deps: CommitDeps,
  input: { readonly chainId: number; readonly expected: Position; readonly tip: ChainTip },
): Promise<void> {
  await moveHead(deps, { ...input, to: input.expected }, async (change) => {
    await movePosition(change.connection, { ...change, to: input.expected, tip: input.tip })
    await finalize(deps, change)
  })
}

async function moveHead(
  deps: CommitDeps,
  input: {
    readonly chainId: number
    readonly expected: Position | undefined
    readonly tip: ChainTip
    readonly to: Position
    readonly ancestor?: Position
    readonly isGap?: boolean
  },
  work: Work,
): Promise<void> {
  const { chainId, expected, tip, to, isGap = false } = input
  await transact(
    deps,
    async (connection) => {
      const stored = await readPosition(connection, chainId)
      assert(
        stored?.hash === expected?.hash,
        `another process moved the position of chain ${chainId} during a commit`,
      )
      const finalizedBefore = await readFinalized(connection, chainId)
      const finalizedNumber = Math.max(finalizedBefore, Math.min(tip.finalized, to.number))
      const ancestor = input.ancestor?.number
      const feeding = { finalizedBefore, ancestor, isGap }
      return { chainId, finalizedNumber, isOlder: false, feeding }
    },
    work,
  )
}

async function finalize(deps: CommitDeps, change: Change): Promise<void> {
  for (const dataset of deps.datasets) await dataset.finalize?.(change)
  await forgetBlocksBelow(change.connection, change.chainId, change.finalizedNumber)
}
