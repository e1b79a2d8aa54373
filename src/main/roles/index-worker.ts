import assert from 'node:assert/strict'
import { parentPort } from 'node:worker_threads'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { systemClock } from '#lib/time.ts'
import { openLogger } from '../logger.ts'
import type { Settings } from '../settings.ts'
import { runIndexRole } from './index-role.ts'
import { openRegister } from './open-register.ts'

/** Where the register is, and how this thread logs. */
export type IndexSettings = Pick<Settings, 'dataFolder' | 'register' | 'log' | 'onChangedFile'>

/** What the thread is told, in this order, each once; perhaps to stop at any time. */
export type ToIndexWorker =
  | { readonly kind: 'open'; readonly settings: IndexSettings }
  /** The ecosystem is checked already; a copy of it crosses to the thread. */
  | { readonly kind: 'run'; readonly ecosystem: Ecosystem }
  | { readonly kind: 'stop' }

/**
 * The index role on a thread of its own, so that a long commit of history never stands in the way of
 * an answer. Sends IndexProgress; ends when it is told to stop.
 */
assert(parentPort !== null, 'this file runs as a worker thread')
const port = parentPort
const stop = new AbortController()
const opened = Promise.withResolvers<IndexSettings>()
const told = Promise.withResolvers<Ecosystem>()
port.on('message', (message: ToIndexWorker) => {
  if (message.kind === 'open') opened.resolve(message.settings)
  else if (message.kind === 'run') told.resolve(message.ecosystem)
  else stop.abort()
})
const settings = await opened.promise
const register = await openRegister(settings)
try {
  await runIndexRole(
    {
      ecosystem: await told.promise,
      register,
      onChangedFile: settings.onChangedFile,
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
