import { Worker } from 'node:worker_threads'
import { moduleFile } from '#base/package-root.ts'
import type { FromIndexWorker, IndexWork } from './index-worker.ts'

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
    await waitForExit(worker)
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

function waitForExit(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject)
    worker.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`the index thread exited with code ${code}`)),
    )
  })
}
