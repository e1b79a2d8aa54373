import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startPostgres } from '#test/postgres.ts'
import { benchEcosystem } from './bench-ecosystem.ts'
import { type ChainServer, startChainServer } from './chain-server.ts'
import type { ChainTruth } from './chain-truth.ts'
import { checkFigures, windowsAreRight } from './check-figures.ts'
import { postgresCpu } from './postgres-cpu.ts'
import { cpuSeconds, peakMegabytes } from './process-figures.ts'
import type { ServerCounts } from './server-counts.ts'
import { type SextonProcess, startSexton } from './sexton-process.ts'

export interface SextonResult {
  readonly logs: number
  /** From the start of the process until the whole history is indexed. */
  readonly seconds: number
  /** From the start of the process until the windows of 24 hours, 7 and 30 days are right. */
  readonly usefulSeconds: number
  /** From the start of a second process on the same folder until it answers as before. */
  readonly restartSeconds: number
  /** Of Sexton, and of PostgreSQL where there is one. */
  readonly cpuSeconds: number
  readonly peakMegabytes: number
  /** Of the data folder; nothing on PostgreSQL. */
  readonly diskMegabytes: number
  readonly counts: ServerCounts
}

export interface SextonRun {
  readonly server: ChainServer
  /** An empty database; SQLite without it. */
  readonly databaseUrl?: string
  /** Called with the indexed process before it is stopped. */
  whileReady?(sexton: SextonProcess, truth: ChainTruth): Promise<void>
  /** Called as soon as the API listens; may go on until the history is read. */
  whileIndexing?(sexton: SextonProcess, ended: AbortSignal): Promise<void>
}

/** How often progress is asked for: two readings differ by less than any figure shown. */
const POLL_MS = 20

/** A backfill that takes longer is a failure. */
const TIMEOUT_MS = 30 * 60_000

if (import.meta.main) await main()

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { logs: text, latency: text, 'max-range': text, seed: text },
  })
  const postgres = positionals.includes('postgres') ? await startPostgres({ durable: true }) : null
  const server = await startChainServer({ logs: '100000', ...values })
  try {
    const databaseUrl = await postgres?.createDatabase()
    const result = await runSexton({ server, ...(databaseUrl !== undefined && { databaseUrl }) })
    process.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
  } finally {
    await server.stop()
    await postgres?.stop()
  }
}

/** Lets a fresh Sexton index a chain; throws when a figure differs from the chain's own. */
export async function runSexton(run: SextonRun): Promise<SextonResult> {
  const { server } = run
  const folder = await mkdtemp(join(tmpdir(), 'sexton-bench-'))
  const ecosystemFile = join(folder, 'ecosystem.json')
  await writeFile(ecosystemFile, JSON.stringify(benchEcosystem([server.url])))
  const truth = await server.truth()
  await server.resetCounts()
  const { databaseUrl } = run
  const database = databaseUrl === undefined ? undefined : await postgresCpu(databaseUrl)
  const settings = {
    dataFolder: join(folder, 'data'),
    ecosystemFile,
    ...(databaseUrl !== undefined && { databaseUrl }),
  }
  try {
    const sexton = await startSexton(settings)
    try {
      const { seconds, usefulSeconds } = await untilIndexed(run, sexton, truth)
      const counts = await server.counts()
      const cpu = (await cpuSeconds(sexton.pid)) + ((await database?.used()) ?? 0)
      await checkFigures(sexton, truth)
      const peak = await peakMegabytes(sexton.pid)
      await run.whileReady?.(sexton, truth)
      await sexton.stop()
      const restartSeconds = await restart(settings, truth)
      return {
        logs: truth.wanted,
        seconds,
        usefulSeconds,
        restartSeconds,
        cpuSeconds: cpu,
        peakMegabytes: peak,
        diskMegabytes: await folderMegabytes(settings.dataFolder),
        counts,
      }
    } finally {
      await sexton.kill()
    }
  } finally {
    await database?.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function untilIndexed(run: SextonRun, sexton: SextonProcess, truth: ChainTruth) {
  const ended = new AbortController()
  let reading: Promise<void> | undefined
  let useful: number | undefined
  let isUp = false
  const elapsed = () => (performance.now() - sexton.startedMs) / 1000
  while (elapsed() * 1000 < TIMEOUT_MS) {
    isUp ||= (await sexton.get('/healthz')) !== undefined
    if (isUp) reading ??= run.whileIndexing?.(sexton, ended.signal)
    if (isUp && useful === undefined && (await windowsAreRight(sexton, truth))) useful = elapsed()
    if (isUp && (await isIndexed(sexton, truth))) {
      const seconds = elapsed()
      ended.abort()
      await reading
      return { seconds, usefulSeconds: useful ?? seconds }
    }
    await sleep(POLL_MS)
  }
  throw new Error(`not indexed after ${TIMEOUT_MS / 60_000} minutes`)
}

/** Whether Sexton says that it has read everything up to the head. */
async function isIndexed(sexton: SextonProcess, truth: ChainTruth): Promise<boolean> {
  const answer = await sexton.get('/readyz')
  const text = String(answer?.body?.parts?.['chain base'])
  const [, block, head] = /^live at block (\d+) of (\d+)/.exec(text) ?? []
  return Number(block) >= truth.headNumber && block === head && !/history|backfill/i.test(text)
}

async function restart(
  settings: Parameters<typeof startSexton>[0],
  truth: ChainTruth,
): Promise<number> {
  const sexton = await startSexton(settings)
  try {
    while (!(await isIndexed(sexton, truth))) await sleep(POLL_MS / 4)
    await sexton.get('/api/stats')
    const seconds = (performance.now() - sexton.startedMs) / 1000
    await checkFigures(sexton, truth)
    await sexton.stop()
    return seconds
  } finally {
    await sexton.kill()
  }
}

async function folderMegabytes(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  let bytes = 0
  for (const file of files)
    if (file.isFile()) bytes += (await stat(join(file.parentPath, file.name))).size
  return bytes / 2 ** 20
}
