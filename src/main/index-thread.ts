import assert from 'node:assert/strict'
import { Worker } from 'node:worker_threads'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { moduleFile } from '#lib/package-root.ts'
import { YOUNG_MB } from '#lib/thread-memory.ts'
import type { IndexProgress } from './index-progress.ts'
import type { IndexSettings, ToIndexWorker } from './index-worker.ts'

/** Where the index's modules are loaded, while others load theirs. */
export interface LoadedIndexThread {
  /** Has it open the register, once, while others get ready. */
  open(settings: IndexSettings): void
  /** Runs the index role, once, at once or when `after` is done; fails when that fails. */
  run(
    ecosystem: Ecosystem,
    onProgress: (progress: IndexProgress) => void,
    after?: Promise<unknown>,
  ): IndexThread
  /** Ends a thread that was not told to run. */
  close(): Promise<void>
}

export interface IndexThread {
  /** Rejects when the thread fails, such as on an ecosystem that the chains contradict. */
  readonly ended: Promise<void>
  stop(): Promise<void>
}

/** Starts the thread of the index role, which keeps nobody waiting until it is told what to do. */
export function loadIndexThread(): LoadedIndexThread {
  const worker = new Worker(moduleFile('main/index-worker'), {
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB.index },
  })
  worker.unref()
  const exited = exitOf(worker)
  exited.catch(() => undefined)
  const tell = (message: ToIndexWorker) => worker.postMessage(message)
  const close = async () => void (await worker.terminate())
  return {
    open: (settings) => tell({ kind: 'open', settings }),
    run(ecosystem, onProgress, after) {
      const stopping = new AbortController()
      const begin = async () => {
        if (stopping.signal.aborted) return close()
        worker.ref()
        worker.on('message', onProgress)
        stopping.signal.addEventListener('abort', () => tell({ kind: 'stop' }))
        tell({ kind: 'run', ecosystem })
        return exited
      }
      const ended =
        after === undefined
          ? begin()
          : after.then(begin, async (error: unknown) => {
              await close()
              throw error
            })
      ended.catch(() => undefined)
      return {
        ended,
        async stop() {
          stopping.abort()
          await ended.catch(() => undefined)
        },
      }
    },
    close,
  }
}

/**
 * The same, started when it is told to run: an API that can answer already takes up to a tenth longer to start
 * while another thread loads beside it.
 */
export function lateIndexThread(): LoadedIndexThread {
  let settings: IndexSettings | undefined
  return {
    open(given) {
      settings = given
    },
    run(...told) {
      assert(settings !== undefined, 'the index is told where its register is before it runs')
      const thread = loadIndexThread()
      thread.open(settings)
      return thread.run(...told)
    },
    close: async () => undefined,
  }
}

function exitOf(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject)
    worker.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`the index thread ended with ${code}`)),
    )
  })
}
