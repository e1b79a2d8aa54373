import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { Mutex } from '#lib/mutex.ts'
import { moduleFile } from '#lib/package-root.ts'
import type { Card } from './card.ts'

const oneByOne = new Mutex()

/** Loading the thread takes longer than a picture; its memory is given back when nobody asks. */
const IDLE_MS = 600_000

let thread: Worker | undefined
let idle: NodeJS.Timeout | undefined

/** Draws a card, one at a time and on a thread of its own: it takes some hundred milliseconds. */
export function toPng(card: Card): Promise<Buffer> {
  return oneByOne.run(async () => {
    const own = startDrawing()
    try {
      own.ref()
      own.postMessage(card)
      // Rejects if the thread fails.
      const [png] = await once(own, 'message')
      return Buffer.from(png)
    } finally {
      own.unref()
    }
  })
}

/** Starts the thread where it is not: a page that names a picture is read just before it. */
export function startDrawing(): Worker {
  clearTimeout(idle)
  // In turn, because a picture on a thread that is ended never comes.
  idle = setTimeout(() => oneByOne.run(end), IDLE_MS).unref()
  if (thread !== undefined) return thread
  const own = new Worker(moduleFile('serving/site/cards/png-worker'))
  own.unref()
  // Whoever waits for a picture is told as well; the next one starts another thread.
  own.once('error', () => {
    if (thread === own) thread = undefined
  })
  thread = own
  return own
}

async function end(): Promise<void> {
  void thread?.terminate()
  thread = undefined
}
