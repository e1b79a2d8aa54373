import type { IncomingMessage } from 'node:http'
import * as plain from 'node:http'
import * as secure from 'node:https'
import { urlToHttpOptions } from 'node:url'
import { retryAfterMs } from '#lib/retry-after.ts'
import type { BodyPool } from './body-pool.ts'
import { decompress } from './decompress.ts'
import { EndpointError } from './endpoint-error.ts'
import { readBody } from './read-body.ts'

export interface PostOptions {
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
