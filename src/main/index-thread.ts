import { Worker } from 'node:worker_threads'
import { threadFile } from '#lib/package-root.ts'
import type { IndexProgress } from './index-progress.ts'
import type { IndexTask, ToIndexWorker } from './index-worker.ts'

/** Where the index's modules are loaded, while others load theirs. */
export interface LoadedIndexThread {
  /** Runs the index role, once, when `after` is done; fails when that fails. */
  run(
    task: IndexTask,
    onProgress: (progress: IndexProgress) => void,
    after?: Promise<unknown>,
  ): IndexThread
}

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

/** Starts the thread of the index role, which keeps nobody waiting until it is told what to do. */
export function loadIndexThread(): LoadedIndexThread {
  const worker = new Worker(threadFile('main/index-worker'), {
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB_MAX },
  })
  worker.unref()
  const exited = exitOf(worker)
  exited.catch(() => undefined)
  return {
    run(task, onProgress, after = Promise.resolve()) {
      const stopping = new AbortController()
      const ended = after.then(
        () => runWorker({ worker, exited }, { task, onProgress, stopping: stopping.signal }),
        async (error: unknown) => {
          await worker.terminate()
          throw error
        },
      )
      ended.catch(() => undefined)
      return {
        ended,
        async stop() {
          stopping.abort()
          await ended.catch(() => undefined)
        },
      }
    },
  }
}

async function runWorker(
  { worker, exited }: { readonly worker: Worker; readonly exited: Promise<void> },
  input: {
    readonly task: IndexTask
    readonly onProgress: (progress: IndexProgress) => void
    readonly stopping: AbortSignal
  },
): Promise<void> {
  const { task, onProgress, stopping } = input
  if (stopping.aborted) return void (await worker.terminate())
  const tell = (message: ToIndexWorker) => worker.postMessage(message)
  worker.ref()
  worker.on('message', onProgress)
  stopping.addEventListener('abort', () => tell({ kind: 'stop' }))
  tell({ kind: 'run', task })
  return exited
}

function exitOf(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject)
    worker.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`the index thread ended with ${code}`)),
    )
  })
}
