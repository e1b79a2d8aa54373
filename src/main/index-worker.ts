import { parentPort, workerData } from 'node:worker_threads'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { assert } from '#lib/assert.ts'
import { systemClock } from '#lib/clock.ts'
import { runIndexRole } from './index-role.ts'
import { openLogger } from './logger.ts'
import { openRegister } from './open-register.ts'
import type { Settings } from './settings.ts'

/**
 * The index role on a thread of its own, so that a long commit of history never stands in the way of
 * an answer. Takes `IndexWorkerData`; sends IndexProgress; ends when it is told to stop.
 */
export interface IndexWorkerData {
  readonly settings: Pick<Settings, 'dataFolder' | 'register' | 'log'>
  /** Checked already; a copy of it crosses to the thread. */
  readonly ecosystem: Ecosystem
}

assert(parentPort !== null, 'this file runs as a worker thread')
const port = parentPort
const data: IndexWorkerData = workerData
const stop = new AbortController()
port.once('message', () => stop.abort())
const register = await openRegister(data.settings)
try {
  await runIndexRole(
    {
      ecosystem: data.ecosystem,
      register,
      clock: systemClock,
      logger: await openLogger(data.settings.log, process.stdout),
      onProgress: (progress) => port.postMessage(progress),
    },
    stop.signal,
  )
} finally {
  await register.close()
}
