import type { ChainSource } from '#chains/chain/chain-source.ts'
import type { Chain, Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { sleep } from '#lib/async.ts'
import type { Clock } from '#lib/time.ts'
import { type Leader, LeadLostError } from '#operations/jobs/leader.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import type { AnyDataset } from './dataset.ts'
import type { PriceBook } from './events/value-events.ts'
import { applyConfig } from './indexed-config/apply-config.ts'
import type { FileParts, PartChange } from './indexed-config/file-part.ts'
import { mayLead } from './indexed-config/may-lead.ts'
import { type ChainReport, runChain } from './run-chain.ts'

export interface IndexerDeps {
  readonly ecosystem: Ecosystem
  readonly register: Engine
  readonly leader: Leader
  readonly clock: Clock
  readonly datasets: readonly AnyDataset[]
  readonly prices: PriceBook
  readonly file: FileParts
  sourceOf(chain: Chain): ChainSource
  reportOf(chain: Chain): ChainReport
  /** Called at each try with whether this process leads. */
  onLead?(leads: boolean): void
  onConfigApplied?(changes: readonly PartChange[]): void
  onConfigFailed?(error: unknown): void
  onOutdated?(): void
}

const STANDBY_MS = 1_000

/** Standbys take over when the leader ends or falls silent; the epoch fences off a writer presumed dead. */
export async function runIndexer(deps: IndexerDeps, signal: AbortSignal): Promise<void> {
  const { leader } = deps
  const turn = { leader, hasWaited: false }
  while (!signal.aborted) {
    const isElected = await tryToLead(deps, turn)
    const isLeading = isElected && (await tryToApply(deps, turn))
    if (isLeading || !isElected) deps.onLead?.(isLeading)
    if (isLeading) {
      await lead(deps, leader, signal)
      if (!signal.aborted) deps.onLead?.(false)
      turn.hasWaited = true
    }
    // After a lost lead too: two on one store would take it from each other without pause.
    await sleep(STANDBY_MS, signal)
  }
}

interface Turn {
  readonly leader: Leader
  hasWaited: boolean
}

/** Whether this process was elected; false too while the store fails. */
async function tryToLead(deps: IndexerDeps, turn: Turn): Promise<boolean> {
  const { register: engine, file } = deps
  try {
    const { hasWaited } = turn
    const input = { file, hasWaited }
    if (!(await engine.snapshot((reads) => mayLead(reads, input)))) {
      deps.onOutdated?.()
      return false
    }
    const isElected = await turn.leader.take()
    if (!isElected) turn.hasWaited = true
    return isElected
  } catch (error) {
    ignoreStoreError(error)
    return false
  }
}

/** False if it may not lead, or the store failed. */
async function tryToApply(deps: IndexerDeps, { leader, hasWaited }: Turn): Promise<boolean> {
  try {
    const changes = await applyConfig({ ...deps, engine: deps.register, leader, hasWaited })
    if (changes === undefined) {
      await leader.handOver()
      return false
    }
    if (changes.length > 0) deps.onConfigApplied?.(changes)
    return true
  } catch (error) {
    ignoreStoreError(error)
    deps.onConfigFailed?.(error)
    return false
  }
}

async function lead(deps: IndexerDeps, leader: Leader, outer: AbortSignal): Promise<void> {
  const lost = new AbortController()
  const signal = AbortSignal.any([outer, lost.signal])
  const { register: engine, ecosystem } = deps
  const tokens = ecosystem.tokens.map(({ symbol }) => symbol)
  const runs = ecosystem.chains.map((chain) =>
    runChain(
      {
        ...deps,
        engine,
        leader,
        tokens,
        source: deps.sourceOf(chain),
        report: deps.reportOf(chain),
      },
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

function ignoreStoreError(error: unknown): void {
  if (!(error instanceof StoreError)) throw error
}
