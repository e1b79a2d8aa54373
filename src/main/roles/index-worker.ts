import assert from 'node:assert/strict'
import { parentPort } from 'node:worker_threads'
import type { EcosystemFile } from '#chains/ecosystem/ecosystem-file.ts'
import { resolveAgain } from '#chains/ecosystem/resolve-ecosystem.ts'
import { systemClock } from '#lib/time.ts'
import type { IndexProgress } from '#operations/health/index-progress.ts'
import { openLogger } from '../logger.ts'
import type { Settings } from '../settings.ts'
import { runIndexRole } from './index-role.ts'
import { openRegister } from './open-register.ts'

export type IndexSettings = Pick<Settings, 'dataFolder' | 'database' | 'log'>

/** Sent in order, once each; `stop` at any time. */
export type ToIndexWorker =
  | { readonly kind: 'open'; readonly settings: IndexSettings }
  /** A copy of the checked file crosses to the thread. */
  | { readonly kind: 'run'; readonly file: EcosystemFile }
  | { readonly kind: 'stop' }

export type FromIndexWorker = IndexProgress | { readonly leads: boolean }

/**
 * A thread of its own, so that long commits do not delay answers. Sends IndexProgress; ends on
 * `stop`.
 */
assert(parentPort !== null, 'this file runs as a worker thread')
const port = parentPort
const send = (news: FromIndexWorker) => port.postMessage(news)
const stop = new AbortController()
const opened = Promise.withResolvers<IndexSettings>()
const checked = Promise.withResolvers<EcosystemFile>()
port.on('message', (message: ToIndexWorker) => {
  if (message.kind === 'open') opened.resolve(message.settings)
  else if (message.kind === 'run') checked.resolve(message.file)
  else stop.abort()
})
const settings = await opened.promise
const register = await openRegister(settings)
try {
  await runIndexRole(
    {
      ecosystem: resolveAgain(await checked.promise),
      register,
      clock: systemClock,
      logger: await openLogger(settings.log, process.stdout),
      onProgress: (progress) => send(progress),
      onLead: (leads) => send({ leads }),
    },
    stop.signal,
  )
} finally {
  await register.close()
  port.close()
}
