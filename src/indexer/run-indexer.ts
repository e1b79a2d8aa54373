import { randomUUID } from 'node:crypto'
import type { ChainSource } from '#chain/chain-source.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { sleep } from '#lib/sleep.ts'
import type { Clock } from '#lib/time.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import {
  acquireLease,
  holdLease,
  type Lease,
  LeaseLostError,
  leaseEnd,
  releaseLease,
} from '#store/lease.ts'
import { adoptFile } from './adopted-file/adopt-file.ts'
import type { FileParts, PartChange } from './adopted-file/file-part.ts'
import { mayLead, type OnChangedFile } from './adopted-file/may-lead.ts'
import type { OlderHistoryDeps } from './backfill/older-history.ts'
import type { Rereadings } from './chain-index.ts'
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
  /** The parts of the ecosystem file that shape the register. */
  readonly file: FileParts
  readonly onChangedFile?: OnChangedFile
  sourceOf(chain: Chain): ChainSource
  reportOf(chain: Chain): ChainReport
  /** Sets aside the endpoints that are proven to have left out logs; gives their hosts. */
  findPruned?(error: MissingFactsError): Promise<readonly string[]>
  readonly rereadings?: Rereadings
  /** The lease was taken, or another indexer holds it. */
  onLease?(held: boolean): void
  /** Called with the parts that changed when the file was adopted. */
  onAdopted?(changes: readonly PartChange[]): void
  /** Called when the store failed during adoption; it is retried. */
  onNotAdopted?(error: unknown): void
  /** Called when this process may not lead because the register has a newer file. */
  onOutdated?(): void
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
  const turn = { holder: randomUUID(), hasWaited: false, leaderUntilMs: undefined }
  while (!signal.aborted) {
    const lease = await tryLease(deps, turn)
    const isLeading = lease !== undefined && (await adopt(deps, lease, turn))
    if (isLeading || lease === undefined) deps.onLease?.(isLeading)
    if (isLeading) {
      await runWithLease(deps, lease, signal)
      turn.hasWaited = true
    } else await sleep(STANDBY_MS, signal)
  }
}

interface Turn {
  readonly holder: string
  /** Whether another process has led since this one started, or this one led before. */
  hasWaited: boolean
  /** End of the leader's lease when first seen. */
  leaderUntilMs: number | undefined
}

/** A store that is down for a while grants nothing; the next try comes as for one in reserve. */
async function tryLease(deps: IndexerDeps, turn: Turn): Promise<Lease | undefined> {
  const { register: engine, clock, file, onChangedFile = 'reread' } = deps
  try {
    const { hasWaited } = turn
    const input = { file, onChangedFile, hasWaited }
    if (!(await engine.snapshot((reads) => mayLead(reads, input)))) {
      deps.onOutdated?.()
      return undefined
    }
    const lease = await acquireLease({ engine, clock }, { name: 'index', holder: turn.holder })
    if (lease === undefined) await watchLeader(engine, turn)
    return lease
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return undefined
  }
}

/** A renewed lease proves a live leader; a dead process never renews. */
async function watchLeader(engine: Engine, turn: Turn): Promise<void> {
  const untilMs = await engine.snapshot((reads) => leaseEnd(reads, 'index'))
  turn.leaderUntilMs ??= untilMs
  if (untilMs !== turn.leaderUntilMs) turn.hasWaited = true
}

/** Adopts this process's file; false if it may not lead, or if the store failed. */
async function adopt(deps: IndexerDeps, lease: Lease, { hasWaited }: Turn): Promise<boolean> {
  const { register: engine, ecosystem, onChangedFile = 'reread' } = deps
  const { chains } = ecosystem
  const own = { engine, lease, onChangedFile, hasWaited, tokens: symbolsOf(ecosystem), chains }
  try {
    const changes = await adoptFile({ ...deps, ...own })
    if (changes === undefined) {
      await releaseLease(engine, lease)
      return false
    }
    if (changes.length > 0) deps.onAdopted?.(changes)
    return true
  } catch (error) {
    ignoreStoreError(error)
    deps.onNotAdopted?.(error)
    return false
  }
}

function symbolsOf({ tokens }: Ecosystem): readonly string[] {
  return tokens.map((token) => token.symbol)
}

async function runWithLease(deps: IndexerDeps, lease: Lease, outer: AbortSignal): Promise<void> {
  const lost = new AbortController()
  const signal = AbortSignal.any([outer, lost.signal])
  const { register: engine, ecosystem } = deps
  const tokens = symbolsOf(ecosystem)
  const runs = ecosystem.chains.map((chain) =>
    runChain(
      {
        ...deps,
        engine,
        lease,
        tokens,
        source: deps.sourceOf(chain),
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
