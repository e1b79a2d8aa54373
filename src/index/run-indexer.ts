import { sleep } from '#base/async.ts'
import type { Clock } from '#base/time.ts'
import type { ChainEvent, ChainSource, Position } from '#chain/chain-source.ts'
import { DeepReorgError } from '#chain/follow.ts'
import { type Engine, StoreError } from '#db/engine.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { type Leader, LeadLostError } from '#index/leader.ts'
import { ChainIndex, type ChainIndexDeps } from './chain-index.ts'
import type { AnyDataset } from './dataset.ts'
import type { PriceBook } from './event.ts'
import { StallNote } from './status.ts'

export interface IndexerDeps {
  readonly ecosystem: Ecosystem
  readonly register: Engine
  readonly leader: Leader
  readonly clock: Clock
  readonly datasets: readonly AnyDataset[]
  readonly prices: PriceBook
  sourceOf(chain: Chain): ChainSource
  reportOf(chain: Chain): ChainReport
  /** Called at each try with whether this process leads. */
  onLead?(leads: boolean): void
}

const STANDBY_MS = 1_000

/** Standbys take over when the leader ends or falls silent; the epoch fences off a writer presumed dead. */
export async function runIndexer(deps: IndexerDeps, signal: AbortSignal): Promise<void> {
  const { leader } = deps
  while (!signal.aborted) {
    // Not while the store fails.
    const isLeading = await leader.take().catch((error: unknown) => {
      if (!(error instanceof StoreError)) throw error
      return false
    })
    deps.onLead?.(isLeading)
    if (isLeading) {
      await lead(deps, leader, signal)
      if (!signal.aborted) deps.onLead?.(false)
    }
    // After a lost lead too: two on one store would take it from each other without pause.
    await sleep(STANDBY_MS, signal)
  }
}

async function lead(deps: IndexerDeps, leader: Leader, outer: AbortSignal): Promise<void> {
  const lost = new AbortController()
  const signal = AbortSignal.any([outer, lost.signal])
  const { register: engine, ecosystem } = deps
  const runs = ecosystem.chains.map((chain) =>
    runChain(
      { ...deps, engine, source: deps.sourceOf(chain), report: deps.reportOf(chain) },
      chain,
      signal,
    ),
  )
  const tasks = [...runs, leader.renew(signal)]
  try {
    await Promise.all(tasks)
  } catch (error) {
    if (!(error instanceof LeadLostError)) throw error
  } finally {
    lost.abort()
    await Promise.allSettled(tasks)
    await leader.handOver()
  }
}

interface RunDeps extends Omit<ChainIndexDeps, 'signal' | 'onRead'> {
  readonly report: ChainReport
}

export interface ChainReport {
  event(event: ChainEvent, position: Position | undefined): void
  read(progress: { readonly number: number; readonly logs: number }): void
  failure(error: Error): void
}

const BACKOFF_START_MS = 250
const BACKOFF_MAX_MS = 5_000

/** Reads a chain until the signal, whatever fails meanwhile. */
async function runChain(deps: RunDeps, chain: Chain, signal: AbortSignal): Promise<void> {
  const { report } = deps
  const onRead = (progress: Parameters<ChainReport['read']>[0]) => report.read(progress)
  const index = new ChainIndex({ ...deps, signal, onRead }, chain)
  const note = new StallNote(deps, chain.id)
  let backoffMs = BACKOFF_START_MS
  while (!signal.aborted) {
    try {
      const event = await index.followOnce()
      report.event(event, index.position)
      await note.worked()
      backoffMs = BACKOFF_START_MS
      if (event.kind === 'idle' || event.kind === 'behind')
        await sleep(chain.pollIntervalMs, signal)
    } catch (error) {
      if (error instanceof LeadLostError) throw error
      if (signal.aborted) break
      await note.failed(error)
      report.failure(error instanceof Error ? error : new Error(String(error)))
      await sleep(error instanceof DeepReorgError ? BACKOFF_MAX_MS : backoffMs, signal)
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS)
    }
  }
  await index.close()
}
