import type { IncomingMessage } from 'node:http'
import process from 'node:process'
import { urlToHttpOptions } from 'node:url'
import * as plain from '#lib/node-http.ts'
import type { BodyPool } from './body-pool.ts'
import { decompress } from './decompress.ts'
import { EndpointError } from './endpoint-error.ts'
import { readBody } from './read-body.ts'
import { retryAfterMs } from './retry-after.ts'

export interface PostOptions {
  /** For everything from the connection to the last byte. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** The request does not keep the process alive. */
  readonly background?: boolean
  /** Where the memory of the body comes from. */
  readonly pool?: BodyPool | undefined
}

export interface HttpAnswer {
  readonly status: number
  readonly retryAfterMs: number | undefined
  readonly body: Buffer
  /** As it came over the line. */
  readonly wireBytes: number
}

/** Sends one JSON body; throws EndpointError when no whole answer comes. */
export type Post = (body: string, options: PostOptions) => Promise<HttpAnswer>

/** A connection that does not stand by then will not: most stand within tens of milliseconds. */
const CONNECT_TIMEOUT_MS = 5_000

/** More than may ever be in flight, so that the pace and not the agent decides. */
const SOCKETS_MAX = 64

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json',
  'accept-encoding': 'zstd, br, gzip',
  'user-agent': 'sexton',
}

/** HTTP POST to one URL over kept connections; its basic auth and query keys are sent, never told. */
export function openPost(url: string): Post {
  const target = urlToHttpOptions(new URL(url))
  // TLS is slow to load, in each thread; a node on the same machine needs none.
  const isSecure = target.protocol === 'https:'
  const { Agent, request } = isSecure ? process.getBuiltinModule('node:https') : plain
  const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX })
  const options = { ...target, method: 'POST', agent }
  const send: Send = (length) =>
    request({ ...options, headers: { ...HEADERS, 'content-length': length } })
  return async (body, how) => {
    const answer = await exchange(send, body, how)
    const whole = await decompress(answer.body, answer.encoding)
    const { status, headers } = answer
    const wait = retryAfterMs(headers['retry-after'], Date.now())
    return { status, retryAfterMs: wait, body: whole, wireBytes: answer.body.length }
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
    // The server closed a kept connection at the moment we used it; nothing was answered yet.
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
    // A socket in use keeps the process alive, so these need not.
    const deadline = setTimeout(
      () => stop('timeout', `timed out after ${options.timeoutMs} ms`),
      options.timeoutMs,
    ).unref()
    const connecting = setTimeout(
      () => stop('timeout', `no connection after ${CONNECT_TIMEOUT_MS} ms`),
      CONNECT_TIMEOUT_MS,
    ).unref()
    const onAbort = () => stop('aborted', 'no longer wanted')
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
