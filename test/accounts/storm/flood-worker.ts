import { parentPort, workerData } from 'node:worker_threads'
import { chanceOf } from '#test/simulation/chance.ts'
import { flood } from './flooding.ts'

/** A thread of its own for the floods, so that they do not slow the honest caller's own clock. */
const stop = new AbortController()
parentPort?.once('message', () => stop.abort())
const view = await flood({
  ...(workerData as { readonly url: string; readonly perSecond: number }),
  chance: chanceOf('floods'),
  stop: stop.signal,
})
parentPort?.postMessage(view)
