import { parentPort } from 'node:worker_threads'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { assert } from '#lib/assert.ts'
import { systemClock } from '#lib/clock.ts'
import { runIndexRole } from './index-role.ts'
import { openLogger } from './logger.ts'
import { openRegister } from './open-register.ts'
import type { Settings } from './settings.ts'

/** What the index role needs to know. */
export interface IndexTask {
  readonly settings: Pick<Settings, 'dataFolder' | 'register' | 'log'>
  /** Checked already; a copy of it crosses to the thread. */
  readonly ecosystem: Ecosystem
}

/** What the thread is told: once to run, then perhaps to stop. */
export type ToIndexWorker =
  | { readonly kind: 'run'; readonly task: IndexTask }
  | { readonly kind: 'stop' }

/**
 * The index role on a thread of its own, so that a long commit of history never stands in the way of
 * an answer. Sends IndexProgress; ends when it is told to stop.
 */
assert(parentPort !== null, 'this file runs as a worker thread')
const port = parentPort
const stop = new AbortController()
const told = Promise.withResolvers<IndexTask>()
port.on('message', (message: ToIndexWorker) => {
  if (message.kind === 'run') told.resolve(message.task)
  else stop.abort()
})
const { settings, ecosystem } = await told.promise
const register = await openRegister(settings)
try {
  await runIndexRole(
    {
      ecosystem,
      register,
      clock: systemClock,
      logger: await openLogger(settings.log, process.stdout),
      onProgress: (progress) => port.postMessage(progress),
    },
    stop.signal,
  )
} finally {
  await register.close()
  port.close()
}
