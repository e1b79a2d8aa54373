import assert from 'node:assert/strict'
import type { ChainTip, Position } from '#chains/chain/chain-event.ts'
import { forgetReadable } from '#chains/indexer/status.ts'
import type { BlockHeader, Log } from '#domain/chain.ts'
import { DAY_SECONDS } from '#lib/time.ts'
import { sql } from '#store/sql.ts'
import type { Change } from './dataset.ts'
import {
  forgetBlocksAbove,
  forgetBlocksBelow,
  movePosition,
  readProgress,
  storeBlocks,
} from './positions.ts'
import type { Segment } from './read-segments.ts'
import {
  applyStaged,
  type CommitDeps,
  stageLogs,
  storeAnomalies,
  type Transaction,
  transact,
  type Work,
} from './transaction.ts'

/** Where the chain is, and where the register is expected to be. */
interface Step {
  readonly chainId: number
  readonly expected: Position | undefined
  readonly tip: ChainTip
}

/** The longest window is 30 days; while history is read, the head goes on. */
const HOURS_SECONDS = 36 * DAY_SECONDS

export function hoursFrom({ head }: ChainTip): number {
  return head.timestamp - HOURS_SECONDS
}

/** Stores new blocks of the head, all or nothing. */
export async function commitBlocks(
  deps: CommitDeps,
  input: Step & { readonly logs: readonly Log[]; readonly headers: readonly BlockHeader[] },
): Promise<Position> {
  const { headers, logs } = input
  const to = headers.at(-1)
  assert(to !== undefined, 'a commit needs the block it ends with')
  const read = stageLogs(deps.datasets, logs)
  await moveHead(deps, { ...input, to }, (change) => store(deps, change, { ...input, ...read, to }))
  return to
}

/** Stores a segment of history, which the feed leaves out. */
export async function commitSegment(
  deps: CommitDeps,
  input: Step & { readonly segment: Segment },
): Promise<Position> {
  const { end: to, ...read } = input.segment
  await moveHead(deps, { ...input, to, isGap: true }, (change) =>
    store(deps, change, { ...input, ...read, to, headers: [to] }),
  )
  return to
}

async function store(
  deps: CommitDeps,
  change: Transaction,
  read: Pick<Step, 'tip'> &
    Omit<Segment, 'end'> & { readonly to: Position; readonly headers: readonly BlockHeader[] },
): Promise<void> {
  const { connection, chainId } = change
  // The position moves first: which prices count as known depends on it.
  await movePosition(connection, { ...change, to: read.to, tip: read.tip })
  await applyStaged(change, read.staged)
  await storeAnomalies(connection, read.anomalies)
  await storeBlocks(connection, chainId, read.headers)
  await finalize(deps, change)
}

export async function rollBack(
  deps: CommitDeps,
  input: Step & { readonly expected: Position; readonly ancestor: BlockHeader },
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
  input: Step & { readonly expected: Position },
): Promise<void> {
  await moveHead(deps, { ...input, to: input.expected }, async (change) => {
    await movePosition(change.connection, { ...change, to: input.expected, tip: input.tip })
    await finalize(deps, change)
  })
}

async function moveHead(
  deps: CommitDeps,
  input: Step & {
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
      const stored = await readProgress(connection, chainId)
      assert(
        stored?.position.hash === expected?.hash,
        `another process moved the position of chain ${chainId} during a commit`,
      )
      const finalizedBefore = stored?.finalizedNumber ?? 0
      const finalizedNumber = Math.max(finalizedBefore, Math.min(tip.finalized, to.number))
      const ancestor = input.ancestor?.number
      const hoursFromUnix = isGap ? hoursFrom(tip) : 0
      const feeding = { finalizedBefore, ancestor, isGap }
      return { chainId, finalizedNumber, hoursFromUnix, feeding }
    },
    work,
  )
}

async function finalize(deps: CommitDeps, change: Change): Promise<void> {
  for (const dataset of deps.datasets) await dataset.finalize?.(change)
  await forgetBlocksBelow(change.connection, change.chainId, change.finalizedNumber)
}
