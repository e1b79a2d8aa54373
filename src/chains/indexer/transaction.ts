import { noteUnknown } from '#chains/indexer/status.ts'
import { type Log, placeOf } from '#domain/chain.ts'
import { allEnded } from '#lib/async.ts'
import { chunks } from '#lib/chunks.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import type { Fence } from '#operations/jobs/leader.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { ROWS_PER_STATEMENT, rows, sql, toStoredText } from '#store/sql.ts'
import type { AnyDataset, Change, Staged, TimeRange } from './dataset.ts'
import { type PriceBook, unvalueEvents, valueEvents, valuesOf } from './events/value-events.ts'
import { Changes } from './feed/changes.ts'
import { type FedCommit, resetAll, resetRange, writeFeed } from './feed/write-feed.ts'
import type { Anomaly } from './read-segments.ts'

export interface CommitDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly leader: Fence
  readonly datasets: readonly AnyDataset[]
  readonly prices: PriceBook
  readonly tokens: readonly string[]
}

export function stageLogs(
  datasets: readonly AnyDataset[],
  logs: readonly Log[],
): { readonly staged: readonly Staged[]; readonly anomalies: readonly Anomaly[] } {
  const anomalies: Anomaly[] = []
  const staged = datasets.map((dataset) => {
    const each = dataset.stage((log, problem) =>
      anomalies.push({ log, dataset: dataset.name, problem }),
    )
    each.takeLogs(logs)
    dataset.learn?.(logs)
    return each
  })
  for (const each of staged) each.seal()
  return { staged, anomalies }
}

export interface Transaction extends Change {
  /** Invalidates values that depend on moved prices. */
  unvalueMoved(): Promise<void>
}

export type Work = (change: Transaction) => Promise<void>

/** Runs a transaction that only the leader may commit; `facts` may reject. */
export async function transact(
  deps: CommitDeps,
  facts: (connection: Connection) => Promise<Facts>,
  work: Work,
): Promise<void> {
  await deps.engine.write(async (connection) => {
    // Takes the leader's row first, so that nothing changes what is read.
    const [, read] = await allEnded([deps.leader.hold(connection), facts(connection)])
    const { feeding } = read
    const changes = feeding === undefined || feeding.isGap ? undefined : new Changes()
    await work(openChange(deps, { connection, ...read, changes }))
    const valued = await valueEvents(connection, deps.prices, deps.tokens, changes)
    if (feeding !== undefined) await feed(deps, connection, { ...read, feeding, changes, valued })
  })
}

export interface Feeding extends Pick<FedCommit, 'finalizedBefore' | 'ancestor'> {
  /** A range of history that the feed leaves out. */
  readonly isGap?: boolean
}

interface Facts extends Pick<Change, 'chainId' | 'finalizedNumber' | 'hoursFromUnix'> {
  readonly feeding?: Feeding
}

async function feed(
  { prices, clock }: Pick<CommitDeps, 'prices' | 'clock'>,
  connection: Connection,
  commit: Facts & { readonly feeding: Feeding; readonly valued: number } & Pick<Change, 'changes'>,
): Promise<void> {
  const { feeding, changes, chainId, valued } = commit
  const nowUnix = unixNow(clock)
  if (changes !== undefined)
    await writeFeed(connection, prices, { ...commit, ...feeding, changes, nowUnix })
  else if (valued > 0) await resetAll(connection, nowUnix)
  else await resetRange(connection, { chainId, from: feeding.finalizedBefore + 1, nowUnix })
}

function openChange(
  deps: Pick<CommitDeps, 'prices'>,
  facts: Facts & Pick<Change, 'connection' | 'changes'>,
): Transaction {
  const { connection } = facts
  const moved = new Map<string, TimeRange>()
  return {
    ...facts,
    valuesOf: (amounts) => valuesOf(connection, deps.prices, amounts),
    priceMoved(symbol, when) {
      const before = moved.get(symbol) ?? when
      moved.set(symbol, {
        fromUnix: Math.min(before.fromUnix, when.fromUnix),
        untilUnix: Math.max(before.untilUnix, when.untilUnix),
      })
    },
    async unvalueMoved() {
      await unvalueEvents(connection, deps.prices, moved, facts.changes)
      moved.clear()
    },
  }
}

/** Applies datasets in turn, because prices of one value the next. */
export async function applyStaged(change: Transaction, staged: readonly Staged[]): Promise<void> {
  for (const each of staged) {
    await each.apply(change)
    await change.unvalueMoved()
  }
}

export async function storeAnomalies(
  connection: Connection,
  anomalies: readonly Anomaly[],
): Promise<void> {
  const list = anomalies.map(({ log, dataset, problem }) => [
    log.chainId,
    log.blockNumber,
    placeOf(log),
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
