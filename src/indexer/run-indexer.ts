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
import type { BackfillerDeps } from './backfill/backfiller.ts'
import type { Rereadings } from './chain-index.ts'
import type { AnyDataset } from './dataset.ts'
import type { PriceBook } from './events/value-events.ts'
import { type ChainReport, runChain } from './run-chain.ts'

export interface IndexerDeps extends Pick<BackfillerDeps, 'flushEveryMs'> {
  readonly ecosystem: Ecosystem
  readonly register: Engine
  readonly clock: Clock
  readonly datasets: readonly AnyDataset[]
  readonly prices: PriceBook
  readonly file: FileParts
  readonly onChangedFile?: OnChangedFile
  sourceOf(chain: Chain): ChainSource
  reportOf(chain: Chain): ChainReport
  readonly rereadings?: Rereadings
  onLease?(held: boolean): void
  onAdopted?(changes: readonly PartChange[]): void
  onNotAdopted?(error: unknown): void
  onOutdated?(): void
}

/** Keeps the lease while a chain is quiet. */
const RENEW_MS = 3_000

const STANDBY_MS = 1_000

/**
 * Standbys take over when the leader stops renewing; the epoch fences off a writer presumed dead.
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
  hasWaited: boolean
  leaderUntilMs: number | undefined
}

/** None during a store outage. */
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

async function watchLeader(engine: Engine, turn: Turn): Promise<void> {
  const untilMs = await engine.snapshot((reads) => leaseEnd(reads, 'index'))
  turn.leaderUntilMs ??= untilMs
  if (untilMs !== turn.leaderUntilMs) turn.hasWaited = true
}

/** False if it may not lead, or the store failed. */
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
