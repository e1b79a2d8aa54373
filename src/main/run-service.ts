import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import { moduleFile } from '#base/package-root.ts'
import type { Clock } from '#base/time.ts'
import type { Config } from '#config.ts'
import type { Context } from '#context.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { isUnusable, readIndexStatus, readStalls } from '#index/status.ts'
import type { FromIndexWorker, IndexWork } from '#main/index-worker.ts'
import { leadJobs } from '#main/jobs.ts'
import { lockRegister } from '#main/lock-folder.ts'
import { keepRegister } from '#main/registers.ts'
import { compose, type Served, serve } from '#main/serve.ts'
import { openContext } from '#main/stores.ts'
import type { IndexProgress } from '#ops/health/index-progress.ts'
import type { Leading } from '#ops/health/read-readiness.ts'

interface ServiceInput {
  readonly config: Config
  readonly ecosystemName: string
  readonly ecosystemFile: unknown
  readonly logger: Logger
  readonly clock: Clock
  onProgress(progress: IndexProgress): void
  /** Work that begins once the API listens, such as starting chains. */
  beforeIndex?(): Promise<unknown>
}

export interface RunningService {
  readonly ecosystem: Ecosystem
  readonly served: Served
  readonly index: IndexThread
  /** `some`: at least the first blocks of every chain. */
  indexed(): Promise<'nothing' | 'some' | 'all'>
  stop(): Promise<void>
}

/** Runs API and jobs on this thread, and the index on its own. */
export async function runService(input: ServiceInput): Promise<RunningService> {
  const { config, logger } = input
  const ecosystem = parseEcosystem(input.ecosystemName, input.ecosystemFile)
  const unlock = await lockRegister(config, ecosystem)
  const ctx = await openContext(input, ecosystem)
  const stopKeeping = await keepRegister(ctx)
  const progress = new Map<string, IndexProgress>()
  const leading: Leading = { index: false, jobs: new Map() }
  const opening = async () => serve(ctx, await compose(ctx, () => [...progress.values()], leading))
  const close = async () => {
    stopKeeping()
    await ctx.close()
    unlock()
  }
  const served = await opening().catch(async (error: unknown) => {
    await close()
    throw error
  })
  const { dataFolder, database, log } = config
  const onNews = (news: FromIndexWorker) => {
    if ('leads' in news) {
      leading.index = news.leads
      return
    }
    progress.set(news.chain, news)
    input.onProgress(news)
  }
  const work = { config: { dataFolder, database, log }, file: ecosystem.file }
  const chains = input.beforeIndex?.()
  const index = startIndexThread(work, onNews, chains)
  const ending = new AbortController()
  const lead = () => leadJobs({ ...ctx, ctx, runs: leading.jobs }, ending.signal)
  // Leads even if the chains fail to start, because the index then ends and reports it.
  const verifying = (chains ?? Promise.resolve()).then(lead, lead)
  return {
    ecosystem,
    served,
    index,
    indexed: () => howFar(ctx),
    async stop() {
      logger.info('stopping: waiting for answers in flight')
      await served.stop()
      ending.abort()
      logger.info('stopping: waiting for the index and the jobs')
      await Promise.all([verifying, index.stop()])
      await close()
    },
  }
}

export async function howFar({
  register,
  ecosystem,
}: Context): Promise<'nothing' | 'some' | 'all'> {
  const [status, stalls] = await register.snapshot(async (reads) => [
    await readIndexStatus(reads, ecosystem.chains),
    await readStalls(reads),
  ])
  if (ecosystem.chains.some(({ id }) => isUnusable(stalls.get(id)))) return 'nothing'
  if (status === undefined) return 'nothing'
  return status.chains.every((each) => each.blockNumber >= each.headNumber) ? 'all' : 'some'
}

export interface IndexThread {
  /** Rejects when the thread fails, for example if the ecosystem file contradicts the chains. */
  readonly ended: Promise<void>
  stop(): Promise<void>
}

/** Indexes on its own thread, so that long commits do not delay answers; starts once `after` resolves. */
export function startIndexThread(
  work: IndexWork,
  onNews: (news: FromIndexWorker) => void,
  after: Promise<unknown> = Promise.resolve(),
): IndexThread {
  const stopping = new AbortController()
  const ended = after.then(async () => {
    if (stopping.signal.aborted) return
    const worker = new Worker(moduleFile('main/index-worker'), { workerData: work })
    worker.on('message', onNews)
    stopping.signal.addEventListener('abort', () => worker.postMessage('stop'))
    const [code] = await once(worker, 'exit')
    if (code !== 0) throw new Error(`the index thread exited with code ${code}`)
  })
  ended.catch(() => undefined)
  return {
    ended,
    async stop() {
      stopping.abort()
      await ended.catch(() => undefined)
    },
  }
}
