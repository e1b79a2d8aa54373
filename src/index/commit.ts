import assert from 'node:assert/strict'
import { allEnded, chunks } from '#base/async.ts'
import { type BlockHeader, type Log, toPlace } from '#base/chain.ts'
import { type Clock, DAY_SECONDS, unixNow } from '#base/time.ts'
import type { ChainTip, Position } from '#chain/chain-source.ts'
import type { Connection, Engine } from '#db/engine.ts'
import { ROWS_PER_STATEMENT, rows, sql, toStoredText } from '#db/sql.ts'
import type { Fence } from '#index/leader.ts'
import { type Anomaly, type AnyDataset, type Change, type StagedLogs, stageAll } from './dataset.ts'
import type { PriceBook } from './event.ts'
import { Changes, writeFeed } from './feed.ts'
import type { Segment } from './read-segments.ts'
import {
  deleteResolved,
  keepBlocks,
  movePosition,
  noteUnknown,
  readProgress,
  storeBlocks,
} from './status.ts'

export interface CommitDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly leader: Fence
  readonly datasets: readonly AnyDataset[]
  readonly prices: PriceBook
}

/** Where the chain is, and where the register is expected to be. */
interface Step {
  readonly chainId: number
  readonly expected: Position | undefined
  readonly tip: ChainTip
}

/** The longest window is 30 days, plus six for what is mined while history is read. */
const HOURS_SECONDS = 36 * DAY_SECONDS

function hoursFrom({ head }: ChainTip): number {
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
  const read = stageAll(deps.datasets)
  for (const dataset of deps.datasets) dataset.learn?.(logs)
  for (const each of read.staged) each.take(logs)
  await moveHead(deps, { ...input, to }, (change) => store(change, { ...input, ...read, to }))
  return to
}

/** Stores a segment of history, which the feed leaves out. */
export async function commitSegment(
  deps: CommitDeps,
  input: Step & { readonly segment: Segment },
): Promise<Position> {
  const { end: to, ...read } = input.segment
  await moveHead(deps, { ...input, to, isHistory: true }, (change) =>
    store(change, { ...input, ...read, to, headers: [to] }),
  )
  return to
}

async function store(
  change: Change,
  read: Pick<Step, 'tip'> &
    StagedLogs & { readonly to: Position; readonly headers: readonly BlockHeader[] },
): Promise<void> {
  const { connection, chainId } = change
  // The position moves first: which hours of prices are kept depends on it.
  await movePosition(connection, { ...change, to: read.to, tip: read.tip })
  // In turn, because prices of one dataset value events of the next.
  for (const each of read.staged) await each.apply(change)
  await storeAnomalies(connection, read.anomalies)
  await storeBlocks(connection, chainId, read.headers)
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
    await deleteResolved(change.connection, chainId)
    await keepBlocks(change.connection, chainId, { to: ancestor.number })
    await movePosition(change.connection, { ...change, to: ancestor, tip: input.tip })
  })
  return ancestor
}

export async function markTip(
  deps: CommitDeps,
  input: Step & { readonly expected: Position },
): Promise<void> {
  await moveHead(deps, { ...input, to: input.expected }, (change) =>
    movePosition(change.connection, { ...change, to: input.expected, tip: input.tip }),
  )
}

/** Runs a transaction that only the leader may commit, and only from the expected position. */
async function moveHead(
  { engine, leader, datasets, prices, clock }: CommitDeps,
  input: Step & {
    readonly to: Position
    readonly ancestor?: Position
    readonly isHistory?: boolean
  },
  work: (change: Change) => Promise<void>,
): Promise<void> {
  const { chainId, expected, tip, to, ancestor, isHistory = false } = input
  await engine.write(async (connection) => {
    // The leader's row is locked first; statements of a connection run in order.
    const [, stored] = await allEnded([leader.hold(connection), readProgress(connection, chainId)])
    assert(
      stored?.position.hash === expected?.hash,
      `another process moved the position of chain ${chainId} during a commit`,
    )
    const finalizedBefore = stored?.finalizedNumber ?? 0
    const finalizedNumber = Math.max(finalizedBefore, Math.min(tip.finalized, to.number))
    const hoursFromUnix = isHistory ? hoursFrom(tip) : 0
    const changes = new Changes()
    const change = { connection, chainId, prices, changes, finalizedNumber, hoursFromUnix }
    // The feed leaves out single events of history.
    await work(isHistory ? { ...change, changes: undefined } : change)
    for (const dataset of datasets) await dataset.finalize?.(change)
    await keepBlocks(connection, chainId, { from: finalizedNumber })
    const fed = { chainId, changes, finalizedBefore, finalizedNumber, isHistory }
    const nowUnix = unixNow(clock)
    await writeFeed(connection, prices, { ...fed, ancestor: ancestor?.number, nowUnix })
  })
}

async function storeAnomalies(
  connection: Connection,
  anomalies: readonly Anomaly[],
): Promise<void> {
  const list = anomalies.map(({ log, dataset, problem }) => [
    log.chainId,
    log.blockNumber,
    toPlace(log),
    dataset,
    log.blockHash,
    log.txHash,
    log.address,
    problem.kind,
    toStoredText(problem.reason.slice(0, 500)),
  ])
  for (const part of chunks(list, ROWS_PER_STATEMENT))
    await connection.run(sql`
      insert into anomalies
        (chain_id, block_number, place, dataset, block_hash, tx_hash, contract, kind, reason)
      values ${rows(part)}`)
  const unreadable = anomalies.filter(({ problem }) => problem.kind === 'unreadable')
  await noteUnknown(
    connection,
    unreadable.map(({ log, dataset, problem }) => ({
      chainId: log.chainId,
      dataset,
      contract: log.address,
      reason: 'unreadable',
      detail: problem.reason.slice(0, 500),
    })),
  )
}
