import { randomUUID } from 'node:crypto'
import type { ChainSource } from '#chain/chain-source.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import type { Clock } from '#lib/clock.ts'
import { sleep } from '#lib/sleep.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { acquireLease, holdLease, type Lease, LeaseLostError, releaseLease } from '#store/lease.ts'
import type { OlderHistoryDeps } from './backfill/older-history.ts'
import type { AnyDataset } from './dataset.ts'
import type { PriceBook } from './events/value-events.ts'
import type { MissingFactsError } from './missing-facts-error.ts'
import { type ChainReport, runChain } from './run-chain.ts'

export interface IndexerDeps extends Pick<OlderHistoryDeps, 'flushEveryMs'> {
  readonly ecosystem: Ecosystem
  readonly register: Engine
  readonly clock: Clock
  readonly datasets: readonly AnyDataset[]
  readonly prices: PriceBook
  sourceOf(chain: Chain): ChainSource
  reportOf(chain: Chain): ChainReport
  /** Sets aside the endpoints that are proven to have left out logs; gives their hosts. */
  findPruned?(error: MissingFactsError): Promise<readonly string[]>
  /** Says once that a chain is to be read again from its beginning. */
  takeRereading?(chainId: number): boolean
  /** The lease was taken, or another indexer holds it. */
  onLease?(held: boolean): void
}

/** A chain may be quiet for longer than a lease lasts, so it is prolonged at this pace. */
const RENEW_MS = 3_000

/** How often an indexer that waits in reserve tries to take over. */
const STANDBY_MS = 1_000

/**
 * Runs the one indexer of a register until the signal aborts. Others wait in reserve and take over
 * when it stops renewing its lease; the epoch keeps a writer that was thought dead from writing.
 */
export async function runIndexer(deps: IndexerDeps, signal: AbortSignal): Promise<void> {
  const holder = randomUUID()
  while (!signal.aborted) {
    const lease = await tryLease(deps, holder)
    deps.onLease?.(lease !== undefined)
    if (lease === undefined) await sleep(STANDBY_MS, signal)
    else await runWithLease(deps, lease, signal)
  }
}

/** A store that is down for a while grants nothing; the next try comes as for one in reserve. */
async function tryLease(deps: IndexerDeps, holder: string): Promise<Lease | undefined> {
  try {
    return await acquireLease(
      { engine: deps.register, clock: deps.clock },
      { name: 'index', holder },
    )
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return undefined
  }
}

async function runWithLease(deps: IndexerDeps, lease: Lease, outer: AbortSignal): Promise<void> {
  const lost = new AbortController()
  const signal = AbortSignal.any([outer, lost.signal])
  const { register: engine, ecosystem } = deps
  const tokens = ecosystem.tokens.map((token) => token.symbol)
  const runs = ecosystem.chains.map((chain) =>
    runChain(
      {
        ...deps,
        engine,
        lease,
        tokens,
        source: deps.sourceOf(chain),
        takeRereading: () => deps.takeRereading?.(chain.id) ?? false,
        report: deps.reportOf(chain),
      },
      chain,
      signal,
    ),
  )
  const tasks = [...runs, renewLease(deps, lease, signal)]
  try {
    await Promise.all(tasks)
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error
  } finally {
    lost.abort()
    await Promise.allSettled(tasks)
    await releaseLease(engine, lease).catch(ignoreStoreError)
  }
}

/** A lease that cannot be given up expires by itself. */
function ignoreStoreError(error: unknown): void {
  if (!(error instanceof StoreError)) throw error
}

async function renewLease(deps: IndexerDeps, lease: Lease, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(RENEW_MS, signal)
    if (signal.aborted) return
    await deps.register
      .write((connection) => holdLease(connection, lease, deps.clock()))
      .catch((error: unknown) => {
        if (error instanceof LeaseLostError) throw error
      })
  }
}
