import type { IncomingMessage } from 'node:http'
import * as plain from 'node:http'
import * as secure from 'node:https'
import { urlToHttpOptions } from 'node:url'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'
import { free } from '#base/free.ts'
import { retryAfterMs } from '#base/retry-after.ts'
import { EndpointError } from '#chain/rpc-error.ts'

interface PostOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  readonly background?: boolean
  readonly pool?: BodyPool | undefined
}

export interface HttpAnswer {
  readonly status: number
  readonly retryAfterMs: number | undefined
  readonly body: Buffer
  readonly wireBytes: number
}

export type Post = (body: string, options: PostOptions) => Promise<HttpAnswer>

/** Connections take tens of milliseconds or fail. */
const CONNECT_TIMEOUT_MS = 5_000

/** Above what may be in flight. */
const SOCKETS_MAX = 64

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json',
  'accept-encoding': 'zstd, br, gzip',
  'user-agent': 'sexton',
}

/** A node that asks for more, such as until a plan renews, is asked again anyway. */
const RETRY_AFTER_MAX_MS = 3_600_000

/** Keeps connections alive. Credentials in the URL are never logged. */
export function openPost(url: string): Post {
  const target = urlToHttpOptions(new URL(url))
  const isSecure = target.protocol === 'https:'
  const { Agent, request } = isSecure ? secure : plain
  const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX })
  const options = { ...target, method: 'POST', agent }
  const send: Send = (length) =>
    request({ ...options, headers: { ...HEADERS, 'content-length': length } })
  return async (body, how) => {
    const answer = await exchange(send, body, how)
    const whole = await decompress(answer.body, answer.encoding)
    const { status, headers } = answer
    const wait = retryAfterMs(headers['retry-after'], Date.now())
    const waitMs = wait && Math.min(wait, RETRY_AFTER_MAX_MS)
    return { status, retryAfterMs: waitMs, body: whole, wireBytes: answer.body.length }
  }
}

type Send = (length: number) => ReturnType<typeof plain.request>

interface RawAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly encoding: string
  readonly body: Buffer
}

async function exchange(send: Send, body: string, options: PostOptions): Promise<RawAnswer> {
  try {
    return await exchangeOnce(send, body, options)
  } catch (error) {
    // The keep-alive connection closed before an answer.
    if (!(error instanceof StaleSocketError)) throw error
    return await exchangeOnce(send, body, options).catch((again: unknown) => {
      throw again instanceof StaleSocketError ? again.failure : again
    })
  }
}

class StaleSocketError extends Error {
  readonly failure: EndpointError
  constructor(failure: EndpointError) {
    super(failure.message)
    this.failure = failure
  }
}

function exchangeOnce(send: Send, body: string, options: PostOptions): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const request = send(Buffer.byteLength(body))
    let stopped: EndpointError | undefined
    let hasAnswer = false
    const stop = (kind: 'timeout' | 'aborted', words: string) => {
      stopped ??= new EndpointError(kind, words)
      request.destroy(stopped)
    }
    const deadline = setTimeout(
      () => stop('timeout', `timed out after ${options.timeoutMs} ms`),
      options.timeoutMs,
    ).unref()
    const connecting = setTimeout(
      () => stop('timeout', `no connection after ${CONNECT_TIMEOUT_MS} ms`),
      CONNECT_TIMEOUT_MS,
    ).unref()
    const onAbort = () => stop('aborted', 'cancelled by the caller')
    const settle = () => {
      clearTimeout(deadline)
      clearTimeout(connecting)
      options.signal?.removeEventListener('abort', onAbort)
    }
    const fail = (error: unknown) => {
      settle()
      const failure = stopped ?? toEndpointError(error)
      const isStale = request.reusedSocket && !hasAnswer && stopped === undefined
      reject(isStale ? new StaleSocketError(failure) : failure)
    }
    request.on('error', fail)
    request.on('socket', (socket) => {
      if (options.background) socket.unref()
      if (socket.connecting) socket.once('connect', () => clearTimeout(connecting))
      else clearTimeout(connecting)
    })
    request.on('response', (incoming) => {
      hasAnswer = true
      readBody(incoming, options.pool).then((whole) => {
        settle()
        const encoding = incoming.headers['content-encoding'] ?? 'identity'
        const { statusCode: status = 0, headers } = incoming
        resolve({ status, headers, encoding, body: whole })
      }, fail)
    })
    options.signal?.addEventListener('abort', onAbort)
    if (options.signal?.aborted) onAbort()
    request.end(body)
  })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function toEndpointError(error: unknown): EndpointError {
  if (error instanceof EndpointError) return error
  const words = error instanceof Error && error.message !== '' ? error.message : codeOf(error)
  return new EndpointError('unreachable', words || 'no connection', { cause: error })
}

/** The limit is over ten times the target size. */
export const BODY_BYTES_MAX = 64 * 1024 * 1024

export function readBody(incoming: IncomingMessage, pool?: BodyPool): Promise<Buffer> {
  const declared = Number(incoming.headers['content-length'] ?? Number.NaN)
  return new Promise((resolve, reject) => {
    const body = declared <= BODY_BYTES_MAX ? makeSized(declared, pool) : makeGrowing()
    const refuse = () => {
      incoming.destroy()
      reject(new EndpointError('too-large', `the answer exceeds ${BODY_BYTES_MAX} bytes`))
    }
    if (declared > BODY_BYTES_MAX) refuse()
    incoming.on('data', (part: Buffer) => {
      if (body.add(part) > BODY_BYTES_MAX) refuse()
    })
    incoming.on('end', () => resolve(body.whole()))
    incoming.on('error', (cause) => {
      const words = `the answer was cut off: ${cause.message}`
      reject(new EndpointError('cut-off', words, { cause }))
    })
  })
}

interface Body {
  add(part: Buffer): number
  whole(): Buffer
}

/** Avoids copying megabytes. */
function makeSized(size: number, pool: BodyPool | undefined): Body {
  const whole = pool?.take(size) ?? Buffer.allocUnsafeSlow(size)
  let length = 0
  return {
    add(part) {
      length += part.copy(whole, length)
      freePart(part)
      return length
    },
    whole: () => whole.subarray(0, length),
  }
}

function makeGrowing(): Body {
  const parts: Buffer[] = []
  let length = 0
  return {
    add(part) {
      length += part.length
      if (length <= BODY_BYTES_MAX) parts.push(part)
      return length
    },
    whole() {
      const whole = Buffer.concat(parts, length)
      for (const part of parts) freePart(part)
      return whole
    },
  }
}

/** A response comes in a hundred parts, which the collector would leave for dozens of responses. */
function freePart({ buffer, length }: Buffer): void {
  // Not Node's pool, of which a part may be a slice.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) free(new Uint8Array(buffer))
}

const decoders = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
} as const

/** RFC 9110, 8.4. Off the main thread. */
async function decompress(body: Buffer, encoding: string): Promise<Buffer> {
  const name = encoding.trim().toLowerCase()
  if (name === 'identity' || name === '') return body
  if (!isKnown(name)) throw new EndpointError('malformed', `unknown content-encoding ${name}`)
  try {
    return await decoders[name](body, { maxOutputLength: BODY_BYTES_MAX })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new EndpointError('too-large', `the answer exceeds ${BODY_BYTES_MAX} bytes`)
    const kind = code === 'Z_BUF_ERROR' ? 'cut-off' : 'malformed'
    throw new EndpointError(kind, `the answer is not a complete ${name} stream`, { cause: error })
  }
}

function isKnown(name: string): name is keyof typeof decoders {
  return Object.hasOwn(decoders, name)
}

const BUFFERS_MAX = 4

const STEP_BYTES = 1 << 20

/** Gigabytes of history must not allocate new pages each time. */
export class BodyPool {
  readonly #free: Buffer[] = []

  take(size: number): Buffer {
    const place = this.#free.findIndex((buffer) => buffer.length >= size)
    const [found] = place < 0 ? [] : this.#free.splice(place, 1)
    const rounded = Math.ceil(Math.max(1, size) / STEP_BYTES) * STEP_BYTES
    return (found ?? Buffer.allocUnsafeSlow(rounded)).subarray(0, size)
  }

  give(body: Uint8Array): void {
    // Only this pool's buffers are whole steps.
    const { buffer, byteOffset } = body
    if (byteOffset !== 0 || buffer.byteLength % STEP_BYTES !== 0) return
    if (this.#free.length < BUFFERS_MAX) this.#free.push(Buffer.from(buffer))
  }
}
