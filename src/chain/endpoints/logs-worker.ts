import assert from 'node:assert/strict'
import { parentPort } from 'node:worker_threads'
import { type FromThread, type ToThread, toFailure } from '#chain/endpoints/logs-thread.ts'
import { type FetchedLogs, openLogsFetcher } from './logs-fetcher.ts'

assert(parentPort !== null, 'this file runs as a worker thread')
const port = parentPort
const fetcher = openLogsFetcher()
const underWay = new Map<number, AbortController>()

port.on('message', (message: ToThread) => {
  if (message.kind === 'fetch') void answer(message)
  else if (message.kind === 'abort') underWay.get(message.ticket)?.abort()
  else fetcher.release({ body: message.body })
})

async function answer({ ticket, ask }: Extract<ToThread, { kind: 'fetch' }>): Promise<void> {
  const stop = new AbortController()
  underWay.set(ticket, stop)
  try {
    sendLogs(ticket, await fetcher.fetch(ask, stop.signal))
  } catch (error) {
    send({ kind: 'failed', ticket, failure: toFailure(error) })
  } finally {
    underWay.delete(ticket)
  }
}

function sendLogs(ticket: number, { columns, ...fetched }: FetchedLogs): void {
  const { count, pair, blockNumber, timestamp, txIndex, logIndex, places } = columns
  // A copy: buffers of Node's pool cannot be transferred.
  const body = new Uint8Array(columns.body)
  const filled = { count, pair, blockNumber, timestamp, txIndex, logIndex, places }
  const arrays = [body, pair, blockNumber, timestamp, txIndex, logIndex, places]
  send(
    { kind: 'logs', ticket, body, columns: filled, ...fetched },
    arrays.map(({ buffer }) => buffer),
  )
}

function send(message: FromThread, moved: ArrayBuffer[] = []): void {
  port.postMessage(message, moved)
}
