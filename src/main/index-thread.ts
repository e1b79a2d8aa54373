import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { IndexProgress } from './index-progress.ts'
import type { IndexWorkerData } from './index-worker.ts'

export interface IndexThread {
  /** Rejects when the thread fails, such as on an ecosystem that the chains contradict. */
  readonly ended: Promise<void>
  stop(): Promise<void>
}

/** Runs the index role on a thread of its own. */
export function startIndexThread(
  data: IndexWorkerData,
  onProgress: (progress: IndexProgress) => void,
): IndexThread {
  const worker = new Worker(new URL('./index-worker.ts', import.meta.url), { workerData: data })
  worker.on('message', onProgress)
  const ended = new Promise<void>((resolve, reject) => {
    worker.once('error', reject)
    worker.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`the index thread ended with ${code}`)),
    )
  })
  ended.catch(() => undefined)
  return {
    ended,
    async stop() {
      worker.postMessage('stop')
      await Promise.race([ended.catch(() => undefined), once(worker, 'exit')])
    },
  }
}
