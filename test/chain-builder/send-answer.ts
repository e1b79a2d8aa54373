import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { TransportFault, WireForm } from './faults.ts'

interface SendDeps {
  readonly outgoing: ServerResponse
  readonly wireForm: WireForm
}

const json = { 'content-type': 'application/json' }

/** Sends an answer in the form that a fault asks for; resolves when the connection is done with it. */
export async function sendAnswer(
  { outgoing, wireForm }: SendDeps,
  text: string,
  fault: TransportFault | undefined,
): Promise<void> {
  switch (fault?.kind) {
    case 'rate-limit':
      outgoing
        .writeHead(429, { ...json, ...retryAfter(fault) })
        .end('{"error":{"code":-32005,"message":"Too many requests"}}')
      break
    case 'html':
      outgoing.writeHead(200, { 'content-type': 'text/html' }).end('<html>Bad gateway</html>')
      break
    case 'bad-gateway':
      outgoing.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad gateway</html>')
      break
    case 'truncated':
      outgoing.writeHead(200, json).end(text.slice(0, text.length / 2))
      break
    case 'reset':
      outgoing.writeHead(200, { ...json, 'content-length': String(text.length) })
      outgoing.write(text.slice(0, text.length / 2), () => void outgoing.socket?.resetAndDestroy())
      break
    case 'gzip':
    case 'gzip-garbage':
      outgoing
        .writeHead(200, { ...json, 'content-encoding': 'gzip' })
        .end(fault.kind === 'gzip' ? gzipSync(text) : randomBytes(200))
      break
    default:
      sendWhole(outgoing, text, wireForm)
  }
  await ended(outgoing)
}

function sendWhole(outgoing: ServerResponse, text: string, form: WireForm): void {
  if (form === 'chunked') outgoing.writeHead(200, json).end(text)
  else if (form === 'identity')
    outgoing.writeHead(200, { ...json, 'content-length': Buffer.byteLength(text) }).end(text)
  else outgoing.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(gzipSync(text))
}

function retryAfter({ retryAfterSeconds }: TransportFault): Readonly<Record<string, string>> {
  return retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
}

async function ended(outgoing: ServerResponse): Promise<void> {
  if (!outgoing.destroyed && !outgoing.closed) await once(outgoing, 'close')
}
