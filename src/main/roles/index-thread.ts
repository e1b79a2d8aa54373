import assert from 'node:assert/strict'
import { Worker } from 'node:worker_threads'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { moduleFile } from '#lib/package-root.ts'
import { YOUNG_MB } from '#lib/thread-memory.ts'
import type { FromIndexWorker, IndexSettings, ToIndexWorker } from './index-worker.ts'

/** Loads modules in parallel with the API's. */
export interface LoadedIndexThread {
  /** Call it once. */
  open(settings: IndexSettings): void
  /** Call it once. Starts at the latest when `after` resolves; fails when that fails. */
  run(
    ecosystem: Ecosystem,
    onNews: (news: FromIndexWorker) => void,
    after?: Promise<unknown>,
  ): IndexThread
  close(): Promise<void>
}

export interface IndexThread {
  /** Rejects when the thread fails, such as on an ecosystem that contradicts the chains. */
  readonly ended: Promise<void>
  stop(): Promise<void>
}

/** Idle until `open` or `run`. */
export function loadIndexThread(): LoadedIndexThread {
  const worker = new Worker(moduleFile('main/roles/index-worker'), {
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB.index },
  })
  worker.unref()
  const exited = exitOf(worker)
  exited.catch(() => undefined)
  const send = (message: ToIndexWorker) => worker.postMessage(message)
  const close = async () => void (await worker.terminate())
  return {
    open: (settings) => send({ kind: 'open', settings }),
    run(ecosystem, onNews, after) {
      const stopping = new AbortController()
      const begin = async () => {
        if (stopping.signal.aborted) return close()
        worker.ref()
        worker.on('message', onNews)
        stopping.signal.addEventListener('abort', () => send({ kind: 'stop' }))
        send({ kind: 'run', file: ecosystem.file })
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

/** Starts on `run`: loading modules in parallel would delay an API that can already answer. */
export function lazyIndexThread(): LoadedIndexThread {
  let settings: IndexSettings | undefined
  return {
    open(given) {
      settings = given
    },
    run(...input) {
      assert(settings !== undefined, 'open the register before the index runs')
      const thread = loadIndexThread()
      thread.open(settings)
      return thread.run(...input)
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
