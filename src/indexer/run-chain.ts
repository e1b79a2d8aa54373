import type { ChainEvent, Position } from '#chain/chain-event.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import { ancestor, DeepReorgError, type FollowDeps, follow } from '#chain/follow.ts'
import { HistoryReader } from '#chain/read-history.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'
import { assert } from '#lib/assert.ts'
import { sleep } from '#lib/sleep.ts'
import { LeaseLostError } from '#store/lease.ts'
import { type CommitDeps, commitBlocks, markTip, rollBack } from './commit.ts'
import { readPosition, storedBlock } from './positions.ts'
import { filtersOf } from './select-logs.ts'

export interface RunDeps extends CommitDeps {
  readonly source: ChainSource
  readonly report: ChainReport
}

/** What the loop tells of itself, for logs, metrics and progress. */
export interface ChainReport {
  event(event: ChainEvent, position: Position | undefined): void
  failure(error: Error): void
}

/** A chain that stays shorter than the index on another branch for this many polls has reorganised. */
const FORKED_POLLS = 5

const BACKOFF_START_MS = 250
const BACKOFF_MAX_MS = 5_000

/** Follows one chain until the signal aborts: history first, then every new block and every reorg. */
export async function runChain(deps: RunDeps, chain: Chain, signal: AbortSignal): Promise<void> {
  const follower = makeFollower(deps, chain)
  let position: Position | undefined
  // Read again after every failure: what the commit came to is not known then.
  let known = false
  let marks = ''
  let forkedPolls = 0
  let backoffMs = BACKOFF_START_MS
  while (!signal.aborted) {
    try {
      if (!known) position = await deps.engine.snapshot((reads) => readPosition(reads, chain.id))
      known = true
      const event = await follow(follower, position)
      forkedPolls = event.kind === 'behind' && event.forked ? forkedPolls + 1 : 0
      const settled = forkedPolls >= FORKED_POLLS ? await settleShorter(follower, event) : event
      const news = settled.kind !== 'idle' || marksOf(settled) !== marks
      if (news) position = await applyEvent(deps, { chain, event: settled, position })
      marks = marksOf(settled)
      deps.report.event(settled, position)
      backoffMs = BACKOFF_START_MS
      if (event.kind === 'idle' || event.kind === 'behind')
        await sleep(chain.pollIntervalMs, signal)
    } catch (error) {
      if (error instanceof LeaseLostError) throw error
      deps.report.failure(error instanceof Error ? error : new Error(String(error)))
      await sleep(error instanceof DeepReorgError ? BACKOFF_MAX_MS : backoffMs, signal)
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS)
      known = false
    }
  }
}

function marksOf(event: ChainEvent): string {
  const { head, safe, finalized } = event.tip
  return [head.number, safe, finalized].join('.')
}

/** What following a chain needs, out of what the indexer has. */
export function makeFollower(
  deps: Pick<RunDeps, 'engine' | 'source' | 'datasets'>,
  chain: Chain,
): FollowDeps {
  const filters = filtersOf(deps.datasets, chain.id)
  return {
    source: deps.source,
    filters,
    history: new HistoryReader(deps.source, filters),
    startBlock: chain.startBlock,
    finality: chain.finality,
    stored: (number) =>
      deps.engine.snapshot((reads) => storedBlock(reads, { chainId: chain.id, number })),
  }
}

/** Turns a chain that has become shorter into the reorg that it is. */
async function settleShorter(follower: FollowDeps, event: ChainEvent): Promise<ChainEvent> {
  const { tip } = event
  return { kind: 'reorg', tip, ancestor: await ancestor(follower, tip.head.number + 1) }
}

/** Stores what happened; gives the new position. */
export async function applyEvent(
  deps: CommitDeps,
  input: {
    readonly chain: Chain
    readonly event: ChainEvent
    readonly position: Position | undefined
  },
): Promise<Position | undefined> {
  const { event, position } = input
  const common = { chainId: input.chain.id, tip: event.tip, expected: position }
  switch (event.kind) {
    case 'history':
      return commitBlocks(deps, { ...common, logs: event.logs, headers: [event.end] })
    case 'blocks':
      return commitBlocks(deps, {
        ...common,
        logs: event.blocks.flatMap((block) => block.logs),
        headers: event.blocks.map((block) => block.header),
      })
    case 'reorg':
      assert(position !== undefined, 'a reorg needs a position to leave')
      return rollBack(deps, { ...common, expected: position, ancestor: event.ancestor })
    case 'idle':
      if (position !== undefined) await markTip(deps, { ...common, expected: position })
      return position
    case 'behind':
      return position
  }
}
