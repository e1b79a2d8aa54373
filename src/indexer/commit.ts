import type { ChainTip, Position } from '#chain/chain-event.ts'
import type { BlockHeader, Log } from '#domain/chain.ts'
import { assert } from '#lib/assert.ts'
import { chunks } from '#lib/chunks.ts'
import type { Clock } from '#lib/clock.ts'
import { toStoredText } from '#lib/stored-text.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { holdLease, type Lease } from '#store/lease.ts'
import { ROWS_PER_STATEMENT, rows, sql } from '#store/sql.ts'
import { type Backfill, endBackfill, readBackfill, writeBackfill } from './backfill/backfill-row.ts'
import type { AnyDataset, Change, HistoryFold, Staged } from './dataset.ts'
import type { TimeRange } from './events/moments.ts'
import { type PriceBook, unvalueEvents, valueEvents, valuesOf } from './events/value-events.ts'
import {
  forgetBlocksAbove,
  forgetBlocksBelow,
  forgetPosition,
  movePosition,
  readFinalized,
  readPosition,
  storeBlocks,
} from './positions.ts'
import type { Anomaly, Segment } from './segment.ts'

export interface CommitDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly lease: Lease
  readonly datasets: readonly AnyDataset[]
  readonly prices: PriceBook
  /** Symbols of tokens that events can be of. */
  readonly tokens: readonly string[]
}

/** Stores what new blocks brought, folds the rollups and moves the position, all or nothing. */
export async function commitBlocks(
  deps: CommitDeps,
  input: {
    readonly chainId: number
    readonly expected: Position | undefined
    readonly logs: readonly Log[]
    /** Headers to remember; the last one becomes the position. */
    readonly headers: readonly BlockHeader[]
    readonly tip: ChainTip
  },
): Promise<Position> {
  const { staged, anomalies } = stageLogs(deps.datasets, input.logs)
  const to = input.headers.at(-1)
  assert(to !== undefined, 'a commit needs the block it ends with')
  await transact(deps, { ...input, to }, async (change) => {
    // Moved first: what is known of prices depends on how far the chain is read.
    await movePosition(change.connection, { ...change, to, tip: input.tip })
    await applyStaged(change, staged)
    await storeAnomalies(change.connection, anomalies)
    await storeBlocks(change.connection, input.chainId, input.headers)
    await finalize(deps, change)
  })
  return to
}

/** Decodes logs of blocks for datasets. */
export function stageLogs(
  datasets: readonly AnyDataset[],
  logs: readonly Log[],
): { readonly staged: readonly Staged[]; readonly anomalies: readonly Anomaly[] } {
  const anomalies: Anomaly[] = []
  const staged = datasets.map((dataset) => {
    const each = dataset.stage((log, reason) =>
      anomalies.push({ log, dataset: dataset.name, reason }),
    )
    each.takeLogs(logs)
    return each
  })
  return { staged, anomalies }
}

/**
 * Stores a segment of final history and moves the position to its end. The first segment of a chain
 * brings the note of the older history that is still to be read.
 */
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
  await transact(deps, { ...input, to }, async (change) => {
    await movePosition(change.connection, { ...change, to, tip: input.tip })
    if (backfill !== undefined) await writeBackfill(change.connection, chainId, backfill)
    await applySegment(change, segment)
    await storeBlocks(change.connection, chainId, [to])
    await finalize(deps, change)
  })
  return to
}

/** What is folded in memory since it was last stored, with the logs that it could not read. */
export interface Folded {
  readonly folds: readonly HistoryFold[]
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
  const { floor, read, folded } = input.backfill
  const isNew = segment.staged.length > 0
  const backfill = { floor, read: isNew ? end : read, folded: due === undefined ? folded : end }
  await transactOlder(deps, input, async (change) => {
    await writeBackfill(change.connection, chainId, backfill)
    await applySegment(change, segment)
    for (const fold of due?.folds ?? []) await fold.flush(change)
    await storeAnomalies(change.connection, due?.anomalies ?? [])
  })
  return backfill
}

/** Ends the reading of older history: it has met the position. Brings what was left out above it. */
export async function commitMeeting(
  deps: CommitDeps,
  input: {
    readonly chainId: number
    readonly backfill: Backfill
    readonly folded: Folded
    /** Facts of the blocks above the older history, of the datasets that waited for it. */
    readonly staged: readonly Staged[]
    readonly anomalies: readonly Anomaly[]
  },
): Promise<void> {
  await transactOlder(deps, input, async (change) => {
    await endBackfill(change.connection, input.chainId)
    for (const fold of input.folded.folds) {
      await fold.flush(change)
      await fold.complete(change)
    }
    await storeAnomalies(change.connection, input.folded.anomalies)
    await applyStaged(change, input.staged)
    await storeAnomalies(change.connection, input.anomalies)
  })
}

async function applySegment(change: Transaction, segment: Segment): Promise<void> {
  await applyStaged(change, segment.staged)
  await storeAnomalies(change.connection, segment.anomalies)
}

async function applyStaged(change: Transaction, staged: readonly Staged[]): Promise<void> {
  for (const each of staged) {
    await each.apply(change)
    await change.settlePrices()
  }
}

/** Takes back every block above the ancestor: facts go, rollups fold their inverse. */
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
  await transact(deps, { ...input, to: ancestor }, async (change) => {
    for (const dataset of deps.datasets) await dataset.revert(change, ancestor)
    await change.connection.run(sql`
      delete from anomalies where chain_id = ${chainId} and block_number > ${ancestor.number}`)
    await forgetBlocksAbove(change.connection, chainId, ancestor.number)
    await movePosition(change.connection, { ...change, to: ancestor, tip: input.tip })
    await change.settlePrices()
  })
  return ancestor
}

/** Removes everything of a chain, its position included, so that it is read from its beginning. */
export async function forgetChain(deps: CommitDeps, chainId: number): Promise<void> {
  await deps.engine.write(async (connection) => {
    await holdLease(connection, deps.lease, deps.clock())
    const finalizedNumber = await readFinalized(connection, chainId)
    const facts = { connection, chainId, finalizedNumber, isOlder: false }
    await change(deps, facts, async (change) => {
      for (const dataset of deps.datasets)
        await (dataset.forget?.(change) ?? dataset.revert(change, BEFORE_ALL))
      await change.settlePrices()
      await connection.run(sql`delete from anomalies where chain_id = ${chainId}`)
      await endBackfill(connection, chainId)
      await forgetPosition(connection, chainId)
    })
  })
}

/** No block is older. */
const BEFORE_ALL: Position = { number: -1, hash: '0x', timestamp: -1 }

/** Notes that older blocks became final, or that the chain's head moved on. */
export async function markTip(
  deps: CommitDeps,
  input: { readonly chainId: number; readonly expected: Position; readonly tip: ChainTip },
): Promise<void> {
  await transact(deps, { ...input, to: input.expected }, async (change) => {
    await movePosition(change.connection, { ...change, to: input.expected, tip: input.tip })
    await finalize(deps, change)
  })
}

interface Transaction extends Change {
  /** Takes back the values that prices told of so far made doubtful. */
  settlePrices(): Promise<void>
}

type Work = (change: Transaction) => Promise<void>

async function transact(
  deps: CommitDeps,
  input: {
    readonly chainId: number
    readonly expected: Position | undefined
    readonly tip: ChainTip
    readonly to: Position
  },
  work: Work,
): Promise<void> {
  const { chainId, expected } = input
  await deps.engine.write(async (connection) => {
    await holdLease(connection, deps.lease, deps.clock())
    const stored = await readPosition(connection, chainId)
    assert(stored?.hash === expected?.hash, `the position of chain ${chainId} moved under a commit`)
    const finalizedNumber = Math.max(
      await readFinalized(connection, chainId),
      Math.min(input.tip.finalized, input.to.number),
    )
    await change(deps, { connection, chainId, finalizedNumber, isOlder: false }, work)
  })
}

async function transactOlder(
  deps: CommitDeps,
  input: { readonly chainId: number; readonly backfill: Backfill },
  work: Work,
): Promise<void> {
  const { chainId, backfill } = input
  await deps.engine.write(async (connection) => {
    await holdLease(connection, deps.lease, deps.clock())
    const stored = await readBackfill(connection, chainId)
    assert(
      stored?.read.hash === backfill.read.hash && stored.folded.hash === backfill.folded.hash,
      `the older history of chain ${chainId} moved under a commit`,
    )
    const finalizedNumber = await readFinalized(connection, chainId)
    await change(deps, { connection, chainId, finalizedNumber, isOlder: true }, work)
  })
}

async function change(
  deps: CommitDeps,
  facts: Pick<Change, 'connection' | 'chainId' | 'finalizedNumber' | 'isOlder'>,
  work: Work,
): Promise<void> {
  const { connection } = facts
  const moved = new Map<string, TimeRange>()
  await work({
    ...facts,
    valuesOf: (amounts) => valuesOf(connection, deps.prices, amounts),
    priceMoved(symbol, when) {
      const before = moved.get(symbol) ?? when
      moved.set(symbol, {
        fromUnix: Math.min(before.fromUnix, when.fromUnix),
        untilUnix: Math.max(before.untilUnix, when.untilUnix),
      })
    },
    async settlePrices() {
      await unvalueEvents(connection, deps.prices, moved)
      moved.clear()
    },
  })
  await valueEvents(connection, deps.prices, deps.tokens)
}

async function finalize(deps: CommitDeps, change: Change): Promise<void> {
  for (const dataset of deps.datasets) await dataset.finalize?.(change)
  await forgetBlocksBelow(change.connection, change.chainId, change.finalizedNumber)
}

async function storeAnomalies(
  connection: Connection,
  anomalies: readonly Anomaly[],
): Promise<void> {
  const list = anomalies.map(({ log, dataset, reason }) => [
    log.chainId,
    log.blockNumber,
    log.logIndex,
    dataset,
    log.blockHash,
    log.txHash,
    toStoredText(reason.slice(0, 500)),
  ])
  for (const part of chunks(list, ROWS_PER_STATEMENT))
    await connection.run(sql`
      insert into anomalies
        (chain_id, block_number, log_index, dataset, block_hash, tx_hash, reason)
      values ${rows(part)}`)
}
