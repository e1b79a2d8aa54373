import type { ChainTip, Position } from '#chain/chain-event.ts'
import type { BlockHeader, Log } from '#domain/chain.ts'
import { assert } from '#lib/assert.ts'
import { chunks } from '#lib/chunks.ts'
import type { Clock } from '#lib/clock.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { holdLease, type Lease } from '#store/lease.ts'
import { ROWS_PER_STATEMENT, rows, sql } from '#store/sql.ts'
import type { AnyDataset, Change } from './dataset.ts'
import type { PriceBook } from './events/value-events.ts'
import { valueEvents } from './events/value-events.ts'
import {
  forgetBlocksAbove,
  forgetBlocksBelow,
  movePosition,
  readFinalized,
  readPosition,
  storeBlocks,
} from './positions.ts'

export interface CommitDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly lease: Lease
  readonly datasets: readonly AnyDataset[]
  readonly prices: PriceBook
  /** Symbols of tokens that events can be of. */
  readonly tokens: readonly string[]
}

/** Why a log was not understood. */
interface Anomaly {
  readonly log: Log
  readonly dataset: string
  readonly reason: string
}

/** Stores what a stretch of a chain brought, folds the rollups and moves the position, all or nothing. */
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
  const anomalies: Anomaly[] = []
  const staged = deps.datasets.map((dataset) =>
    dataset.stage(input.logs, (log, reason) =>
      anomalies.push({ log, dataset: dataset.name, reason }),
    ),
  )
  const to = input.headers.at(-1)
  assert(to !== undefined, 'a commit needs the block it ends with')
  await transact(deps, { ...input, to }, async (change, moved) => {
    for (const each of staged) await each.apply(change)
    await storeAnomalies(change.connection, anomalies)
    await storeBlocks(change.connection, input.chainId, input.headers)
    await movePosition(change.connection, { ...change, to, tip: input.tip })
    await finalize(deps, change)
    await valueEvents(change.connection, deps.prices, moved, deps.tokens)
  })
  return to
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
  await transact(deps, { ...input, to: ancestor }, async (change, moved) => {
    for (const dataset of deps.datasets) await dataset.revert(change, ancestor)
    await change.connection.run(sql`
      delete from anomalies where chain_id = ${chainId} and block_number > ${ancestor.number}`)
    await forgetBlocksAbove(change.connection, chainId, ancestor.number)
    await movePosition(change.connection, { ...change, to: ancestor, tip: input.tip })
    await valueEvents(change.connection, deps.prices, moved, deps.tokens)
  })
  return ancestor
}

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

type Work = (change: Change, moved: ReadonlyMap<string, number>) => Promise<void>

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
    const moved = new Map<string, number>()
    const priceMoved = (symbol: string, fromUnix: number) =>
      void moved.set(symbol, Math.min(fromUnix, moved.get(symbol) ?? fromUnix))
    const finalizedNumber = Math.max(
      await readFinalized(connection, chainId),
      Math.min(input.tip.finalized, input.to.number),
    )
    await work({ connection, chainId, finalizedNumber, priceMoved }, moved)
  })
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
    reason.slice(0, 500),
  ])
  for (const part of chunks(list, ROWS_PER_STATEMENT))
    await connection.run(sql`
      insert into anomalies
        (chain_id, block_number, log_index, dataset, block_hash, tx_hash, reason)
      values ${rows(part)}`)
}
