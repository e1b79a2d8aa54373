import type { ChainEvent, Position } from '#chains/chain/chain-event.ts'
import { DeepReorgError } from '#chains/chain/follow.ts'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import { sleep } from '#lib/async.ts'
import { LeadLostError } from '#operations/jobs/leader.ts'
import { ChainIndex, type ChainIndexDeps } from './chain-index.ts'
import { StallNote } from './chain-notes.ts'

export interface RunDeps extends Omit<ChainIndexDeps, 'signal' | 'onRead'> {
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
export async function runChain(deps: RunDeps, chain: Chain, signal: AbortSignal): Promise<void> {
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
