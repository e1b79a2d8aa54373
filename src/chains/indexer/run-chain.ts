import type { ChainEvent, Position } from '#chains/chain/chain-event.ts'
import { DeepReorgError } from '#chains/chain/follow.ts'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import { sleep } from '#lib/sleep.ts'
import { LeadLostError } from '#operations/jobs/leader.ts'
import { StoreError } from '#store/engine.ts'
import type { BackfillerDeps } from './backfill/backfiller.ts'
import { ChainIndex } from './chain-index.ts'
import { StallNote } from './stalled-chains.ts'
import { readSetApart, reindexNext, setApart } from './stalled-datasets/set-apart.ts'
import { StalledDatasetError } from './stalled-datasets/stalled-dataset-error.ts'

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
/** One may be a busy machine. */
const STALLS_MAX = 3

/** Reads a chain. Datasets whose code stalls are read last, each alone, so that the others go on. */
export async function runChain(deps: RunDeps, chain: Chain, signal: AbortSignal): Promise<void> {
  let alone: string | undefined
  while (!signal.aborted) {
    try {
      const stalled = await runUntilStall(deps, { chain, alone }, signal)
      alone = undefined
      if (stalled === undefined) continue
      const { dataset, message: detail } = stalled
      if ((await setApart(deps, chain, { dataset, detail })) === 'alone') alone = dataset
    } catch (error) {
      if (error instanceof LeadLostError || !(error instanceof StoreError)) throw error
      deps.report.failure(error)
      await sleep(BACKOFF_MAX_MS, signal)
    }
  }
}

async function runUntilStall(
  ...input: Parameters<typeof runOnce>
): Promise<StalledDatasetError | undefined> {
  try {
    await runOnce(...input)
  } catch (error) {
    if (error instanceof StalledDatasetError) return error
    if (!(error instanceof NextDatasetError)) throw error
  }
  return undefined
}

/** A dataset that was set apart is to be read now. */
class NextDatasetError extends Error {}

/** `alone`: the dataset that history waits for, since nothing else is read. */
async function runOnce(
  all: RunDeps,
  { chain, alone }: { readonly chain: Chain; readonly alone: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  const { report } = all
  const apart = await readSetApart(all, chain.id)
  const deps = { ...all, datasets: all.datasets.filter(({ name }) => !apart.has(name)) }
  const index = new ChainIndex({ ...deps, onRead: (progress) => report.read(progress) }, chain)
  const ended = new AbortController()
  const loops = AbortSignal.any([signal, ended.signal])
  const tasks = [
    repeat({ report, note: new StallNote(deps, chain.id, 'head') }, loops, async () => {
      const event = await index.followOnce()
      report.event(event, index.position)
      if (event.kind === 'idle' || event.kind === 'behind') await sleep(chain.pollIntervalMs, loops)
    }),
    repeat({ report, note: new StallNote(deps, chain.id, 'history'), alone }, loops, async () => {
      if (await index.readOlder()) return
      if (index.isComplete) {
        report.complete()
        if ((await reindexNext(all, chain)) === 'again') throw new NextDatasetError()
      }
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
  deps: Pick<RunDeps, 'report'> & { readonly note: StallNote; readonly alone?: string | undefined },
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  let backoffMs = BACKOFF_START_MS
  let stallsInRow = 0
  while (!signal.aborted) {
    try {
      await work()
      await deps.note.worked()
      backoffMs = BACKOFF_START_MS
      stallsInRow = 0
    } catch (error) {
      if (error instanceof LeadLostError || error instanceof NextDatasetError) throw error
      const isStalled = error instanceof StalledDatasetError && error.dataset !== deps.alone
      stallsInRow = isStalled ? stallsInRow + 1 : 0
      await deps.note.failed(error)
      deps.report.failure(error instanceof Error ? error : new Error(String(error)))
      if (stallsInRow >= STALLS_MAX) throw error
      await sleep(error instanceof DeepReorgError ? BACKOFF_MAX_MS : backoffMs, signal)
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS)
    }
  }
}
