import { Worker } from 'node:worker_threads'
import { threadFile } from '#lib/package-root.ts'
import type { IndexProgress } from './index-progress.ts'
import type { IndexWorkerData } from './index-worker.ts'

export interface IndexThread {
  /** Rejects when the thread fails, such as on an ecosystem that the chains contradict. */
  readonly ended: Promise<void>
  stop(): Promise<void>
}

/**
 * Of the thread's heap, for what lives shortly. Node's own 48 MB made history no faster and 50 MB
 * larger: fresh memory costs more than tidying up a little more often.
 */
const YOUNG_MB_MAX = 12

/** Runs the index role on a thread of its own, once `after` is done; fails when that fails. */
export function startIndexThread(
  data: IndexWorkerData,
  onProgress: (progress: IndexProgress) => void,
  after: Promise<unknown> = Promise.resolve(),
): IndexThread {
  const stopping = new AbortController()
  const ended = after.then(() => runWorker(data, onProgress, stopping.signal))
  ended.catch(() => undefined)
  return {
    ended,
    async stop() {
      stopping.abort()
      await ended.catch(() => undefined)
    },
  }
}

function runWorker(
  data: IndexWorkerData,
  onProgress: (progress: IndexProgress) => void,
  stopping: AbortSignal,
): Promise<void> {
  if (stopping.aborted) return Promise.resolve()
  const worker = new Worker(threadFile('main/index-worker'), {
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB_MAX },
  })
  worker.on('message', onProgress)
  stopping.addEventListener('abort', () => worker.postMessage('stop'))
  return new Promise((resolve, reject) => {
    worker.once('error', reject)
    worker.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`the index thread ended with ${code}`)),
    )
  })
}
