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
    clearTimeout(idle)
    thread ??= new Worker(moduleFile('serving/site/cards/png-worker'))
    try {
      thread.ref()
      thread.postMessage(card)
      // Rejects if the thread fails.
      const [png] = await once(thread, 'message')
      return Buffer.from(png)
    } catch (error) {
      end()
      throw error
    } finally {
      thread?.unref()
      idle = setTimeout(end, IDLE_MS).unref()
    }
  })
}

function end(): void {
  void thread?.terminate()
  thread = undefined
}
