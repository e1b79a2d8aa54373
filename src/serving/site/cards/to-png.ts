import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { Mutex } from '#lib/async.ts'
import { moduleFile } from '#lib/package-root.ts'
import type { Card } from './draw-card.ts'

const oneByOne = new Mutex()

let thread: Worker | undefined

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

function startDrawing(): Worker {
  if (thread !== undefined) return thread
  const own = new Worker(moduleFile('serving/site/cards/png-worker'))
  own.unref()
  // Whoever waits for a picture is told as well; the next one starts another thread.
  own.once('error', () => {
    thread = undefined
  })
  thread = own
  return own
}
