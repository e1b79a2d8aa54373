import type { ChainEvent, Position } from '#chains/chain/chain-event.ts'
import { DeepReorgError } from '#chains/chain/follow.ts'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import { sleep } from '#lib/async.ts'
import { LeadLostError } from '#operations/jobs/leader.ts'
import type { BackfillerDeps } from './backfill/backfiller.ts'
import { ChainIndex } from './chain-index.ts'
import { StallNote } from './stalled-chains.ts'

export interface RunDeps extends BackfillerDeps {
  readonly report: ChainReport
}

export interface ChainReport {
  event(event: ChainEvent, position: Position | undefined): void
  read(progress: { readonly number: number; readonly logs: number }): void
  complete(): void
  failure(error: Error): void
}

const BACKOFF_START_MS = 250
const BACKOFF_MAX_MS = 5_000

/** Reads a chain: new blocks at its head and, beside it, older history. */
export async function runChain(deps: RunDeps, chain: Chain, signal: AbortSignal): Promise<void> {
  const { report } = deps
  const index = new ChainIndex({ ...deps, onRead: (progress) => report.read(progress) }, chain)
  const ended = new AbortController()
  const loops = AbortSignal.any([signal, ended.signal])
  const tasks = [
    repeat({ report, note: new StallNote(deps, chain.id, 'head') }, loops, async () => {
      const event = await index.followOnce()
      report.event(event, index.position)
      if (event.kind === 'idle' || event.kind === 'behind') await sleep(chain.pollIntervalMs, loops)
    }),
    repeat({ report, note: new StallNote(deps, chain.id, 'history') }, loops, async () => {
      if (await index.readOlder()) return
      if (index.isComplete) report.complete()
      await sleep(chain.pollIntervalMs, loops)
    }),
  ]
  try {
    await Promise.all(tasks)
  } finally {
    ended.abort()
    await Promise.allSettled(tasks)
    await index.close()
  }
}

async function repeat(
  deps: Pick<RunDeps, 'report'> & { readonly note: StallNote },
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  let backoffMs = BACKOFF_START_MS
  while (!signal.aborted) {
    try {
      await work()
      await deps.note.worked()
      backoffMs = BACKOFF_START_MS
    } catch (error) {
      if (error instanceof LeadLostError) throw error
      await deps.note.failed(error)
      deps.report.failure(error instanceof Error ? error : new Error(String(error)))
      await sleep(error instanceof DeepReorgError ? BACKOFF_MAX_MS : backoffMs, signal)
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS)
    }
  }
}
