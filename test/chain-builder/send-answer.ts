import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib'
import type { TransportFault, WireForm } from './faults.ts'
import type { ServerWatch } from './server-watch.ts'

/** Larger than the 10 MB at which some clients give up. */
const HUGE_BYTES = 11_000_000

/** A slow drip: pieces this far apart, so that no pause is long but the whole takes an hour. */
const DRIP_MS = 900
const DRIP_PIECES = 4_000

/** Unpacking takes place beside the event loop; this is far more than it needs. */
const UNPACK_MS = 2

/** Kept from before a test may put made-up time in its place. */
const { setTimeout: startTimer } = globalThis

interface SendDeps {
  readonly outgoing: ServerResponse
  readonly watch: ServerWatch
  readonly wireForm: WireForm
}

const json = { 'content-type': 'application/json' }

/** Sends an answer in the form that a fault asks for; resolves when the connection is done with it. */
export async function sendAnswer(
  { outgoing, watch, wireForm }: SendDeps,
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
    case 'hang':
      await idly(watch, ended(outgoing))
      return
    case 'drip':
      await idly(watch, drip(outgoing, text))
      return
    case 'huge':
      outgoing.writeHead(200, json).end(text.padEnd(HUGE_BYTES))
      break
    case 'gzip':
    case 'gzip-garbage':
      outgoing
        .writeHead(200, { ...json, 'content-encoding': 'gzip' })
        .end(fault.kind === 'gzip' ? gzipSync(text) : randomBytes(200))
      await ended(outgoing)
      await new Promise((resolve) => startTimer(resolve, UNPACK_MS))
      return
    default:
      sendWhole(outgoing, text, wireForm)
  }
  await ended(outgoing)
}

const compressors = {
  gzip: gzipSync,
  br: (text: string) =>
    brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: zstdCompressSync,
} as const

function sendWhole(outgoing: ServerResponse, text: string, form: WireForm): void {
  if (form === 'chunked') outgoing.writeHead(200, json).end(text)
  else if (form === 'identity')
    outgoing.writeHead(200, { ...json, 'content-length': Buffer.byteLength(text) }).end(text)
  else outgoing.writeHead(200, { ...json, 'content-encoding': form }).end(compressors[form](text))
}

function retryAfter({ retryAfterSeconds }: TransportFault): Readonly<Record<string, string>> {
  return retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
}

async function ended(outgoing: ServerResponse): Promise<void> {
  if (!outgoing.destroyed && !outgoing.closed) await once(outgoing, 'close')
}

async function idly(watch: ServerWatch, work: Promise<void>): Promise<void> {
  watch.idle()
  await work.finally(() => watch.busy())
}

async function drip(outgoing: ServerResponse, text: string): Promise<void> {
  outgoing.writeHead(200, json)
  const size = Math.ceil(text.length / DRIP_PIECES)
  for (let at = 0; at < text.length && !outgoing.destroyed; at += size) {
    outgoing.write(text.slice(at, at + size))
    await sleep(DRIP_MS)
  }
  outgoing.end()
}
