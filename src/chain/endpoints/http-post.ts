import { once } from 'node:events'
import * as plain from 'node:http'
import * as secure from 'node:https'
import { urlToHttpOptions } from 'node:url'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'
import { retryAfterMs } from '#base/retry-after.ts'
import { EndpointError } from '#chain/rpc-error.ts'

interface PostOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** Does not keep the process alive. */
  readonly background?: boolean
}

export interface HttpAnswer {
  readonly status: number
  readonly retryAfterMs: number | undefined
  readonly body: Buffer
}

export type Post = (body: string, options: PostOptions) => Promise<HttpAnswer>

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

/** The limit is over ten times the target size. */
const BODY_BYTES_MAX = 64 * 1024 * 1024

/** Keeps connections alive. Credentials in the URL are never logged. */
export function openPost(url: string): Post {
  const target = urlToHttpOptions(new URL(url))
  const { Agent, request } = target.protocol === 'https:' ? secure : plain
  const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX })
  return async (body, { timeoutMs, signal: outer, background = false }) => {
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = outer === undefined ? timeout : AbortSignal.any([outer, timeout])
    const headers = { ...HEADERS, 'content-length': Buffer.byteLength(body) }
    const send = () => {
      const sending = request({ ...target, method: 'POST', agent, headers, signal })
      // Errors are read from what waits for the response, or from the body.
      sending.on('error', () => undefined)
      if (background) sending.on('socket', (socket) => socket.unref())
      return sending.end(body)
    }
    try {
      const incoming = await responseTo(send, signal)
      const { statusCode: status = 0, headers: received } = incoming
      const wait = retryAfterMs(received['retry-after'], Date.now())
      const whole = await decompress(await readBody(incoming), received['content-encoding'])
      return { status, retryAfterMs: wait && Math.min(wait, RETRY_AFTER_MAX_MS), body: whole }
    } catch (error) {
      if (outer?.aborted) throw new EndpointError('aborted', 'cancelled by the caller')
      if (timeout.aborted) throw new EndpointError('timeout', `timed out after ${timeoutMs} ms`)
      throw error
    }
  }
}

async function responseTo(
  send: () => plain.ClientRequest,
  signal: AbortSignal,
): Promise<plain.IncomingMessage> {
  for (let isFirst = true; ; isFirst = false) {
    const request = send()
    try {
      const [incoming] = await once(request, 'response', { signal })
      return incoming
    } catch (cause) {
      // The server closed a kept connection before it read the request.
      if (isFirst && request.reusedSocket && !signal.aborted) continue
      throw new EndpointError('unreachable', describeFailure(cause) || 'no connection', { cause })
    }
  }
}

function describeFailure(error: unknown): string {
  return (error instanceof Error && error.message) || readCode(error)
}

function readCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

async function readBody(incoming: plain.IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  const declared = Number(incoming.headers['content-length'] ?? 0)
  try {
    if (declared <= BODY_BYTES_MAX)
      for await (const part of incoming) {
        length += part.length
        if (length > BODY_BYTES_MAX) break
        parts.push(part)
      }
  } catch (cause) {
    throw new EndpointError('cut-off', `the answer was cut off: ${describeFailure(cause)}`, {
      cause,
    })
  }
  if (Math.max(declared, length) <= BODY_BYTES_MAX) return Buffer.concat(parts, length)
  incoming.destroy()
  throw tooLarge()
}

function tooLarge(): EndpointError {
  return new EndpointError('too-large', `the answer exceeds ${BODY_BYTES_MAX} bytes`)
}

const LIMITED = { maxOutputLength: BODY_BYTES_MAX }

const decoders: Readonly<Record<string, (body: Buffer) => Promise<Buffer>>> = {
  gzip: (body) => promisify(gunzip)(body, LIMITED),
  'x-gzip': (body) => promisify(gunzip)(body, LIMITED),
  deflate: (body) => promisify(inflate)(body, LIMITED),
  br: (body) => promisify(brotliDecompress)(body, LIMITED),
  zstd: (body) => promisify(zstdDecompress)(body, LIMITED),
}

/** RFC 9110, 8.4. Off the main thread. */
async function decompress(body: Buffer, encoding = 'identity'): Promise<Buffer> {
  const name = encoding.trim().toLowerCase()
  if (name === 'identity' || name === '') return body
  const decode = decoders[name]
  if (decode === undefined) throw new EndpointError('malformed', `unknown content-encoding ${name}`)
  try {
    return await decode(body)
  } catch (cause) {
    const code = readCode(cause)
    if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge()
    const kind = code === 'Z_BUF_ERROR' ? 'cut-off' : 'malformed'
    throw new EndpointError(kind, `the answer is not a complete ${name} stream`, { cause })
  }
}
