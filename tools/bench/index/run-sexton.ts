import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BenchProcess, cpuSeconds, peakMegabytes } from '../bench-process.ts'
import { isIndexed, type SextonStart, startSexton } from '../start-sexton.ts'
import type { ChainServer } from './chain-server.ts'
import type { ChainTruth } from './chain-truth.ts'
import { checkFigures, windowsAreRight } from './check-figures.ts'
import type { Figures } from './figures.ts'

/** A backfill that takes longer is a failure. */
const TIMEOUT_MS = 30 * 60_000
const RESTART_POLL_MS = 5

/** Lets a fresh Sexton index a chain; throws if a figure differs from the chain's own. */
export async function runSexton(server: ChainServer, databaseUrl?: string): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-bench-'))
  const start = { role: 'start', folder, databaseUrl, rpcUrl: server.url } as const
  const truth = await server.truth()
  await server.counts()
  try {
    const sexton = await startSexton(start)
    try {
      const times = await untilIndexed(sexton, truth)
      const counts = await server.counts()
      const used = await cpuSeconds(sexton.pid)
      await checkFigures(sexton.url, truth)
      const peak = await peakMegabytes(sexton.pid)
      await sexton.stop()
      const restartSeconds = await restart(start, truth)
      const figures = { logs: truth.logs, cpuSeconds: used, peakMegabytes: peak, counts }
      return { ...figures, ...times, restartSeconds }
    } finally {
      await sexton.kill()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function untilIndexed(sexton: BenchProcess, truth: ChainTruth) {
  let usefulSeconds: number | undefined
  const elapsed = () => (performance.now() - sexton.startedMs) / 1_000
  const isDone = async () => {
    if (usefulSeconds === undefined && (await windowsAreRight(sexton.url, truth)))
      usefulSeconds = elapsed()
    return isIndexed(sexton)
  }
  await sexton.until(isDone, { timeoutMs: TIMEOUT_MS })
  const seconds = elapsed()
  return { seconds, usefulSeconds: usefulSeconds ?? seconds }
}

async function restart(start: SextonStart, truth: ChainTruth): Promise<number> {
  const sexton = await startSexton(start)
  try {
    await sexton.until(() => isIndexed(sexton), { pollMs: RESTART_POLL_MS })
    const seconds = (performance.now() - sexton.startedMs) / 1_000
    await checkFigures(sexton.url, truth)
    return seconds
  } finally {
    await sexton.kill()
  }
}
