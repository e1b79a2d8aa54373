import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { type Refusal, refuse } from '#domain/refusal.ts'
import type { ClientConnection } from './connections.ts'
import type { Incoming } from './exchange.ts'

export const BODY_BYTES_MAX = 8_192

/** Allows white space around the semicolon (RFC 9110, 8.3.1) and the usual misspelling of UTF-8. */
const JSON_TYPE = /^application\/json(?: ?; ?charset="?utf-?8"?)?$/i

/** Requires exactly one host (RFC 9112, 3.2); Node joins several with a comma. */
export function checkHost({ headers, httpVersion }: IncomingMessage): Refusal | undefined {
  const { host } = headers
  if (host === undefined)
    return httpVersion === '1.0'
      ? undefined
      : refuse('invalid_parameter', 'the Host header is missing')
  return /[,\s]/.test(host)
    ? refuse('invalid_parameter', 'the Host header must name one host')
    : undefined
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/** Judges headers before the body is read. */
export function checkFraming(request: IncomingMessage): Refusal | undefined {
  if (!hasBody(request)) return undefined
  const { headers, method } = request
  if (method !== 'POST') return refuse('invalid_body', `${method} takes no body`)
  if (Number(headers['content-length'] ?? 0) > BODY_BYTES_MAX) return tooLarge()
  if (headers['content-encoding'] !== undefined)
    return refuse('unsupported_media_type', 'send the body without Content-Encoding')
  if (!JSON_TYPE.test(headers['content-type'] ?? ''))
    return refuse('unsupported_media_type', 'send the body as application/json in UTF-8')
  return undefined
}

export function tooLarge(): Refusal {
  return refuse('payload_too_large', `the body may have at most ${BODY_BYTES_MAX} bytes`)
}

/** Reads origin-form or absolute-form (RFC 9112, 3.2.2). */
export function pathOf(target: string): string {
  const path = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')
  const end = path.indexOf('?')
  return end === -1 ? path : path.slice(0, end)
}

/** Our paths need no escapes: an escape, fragment or segment parameter is an alias attempt. */
export function isCanonical(path: string): boolean {
  for (let index = 0; index < path.length; index += 1) {
    const code = path.charCodeAt(index)
    if (code === 37 || code === 35 || code === 59 || code === 92 || code < 33 || code > 126)
      return false
  }
  return path.startsWith('/')
}

export type HttpQuery = ReadonlyMap<string, readonly string[]>

export const NO_QUERY: HttpQuery = new Map()

const NO_PATH: Readonly<Record<string, string>> = Object.freeze({})

/** Makes ids that are random per process, plus a counter. */
export function requestIds(randomBytes: (size: number) => Buffer): () => string {
  const prefix = randomBytes(4).toString('hex')
  let count = 0
  return () => {
    count += 1
    return `${prefix}-${count.toString(36)}`
  }
}

export class ServerIncoming implements Incoming {
  readonly startedMs = performance.now()
  readonly requestId: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly socketAddress: string
  readonly path: Readonly<Record<string, string>>
  readonly query: ReadonlyMap<string, readonly string[]>
  readonly body: unknown
  readonly #connection: ClientConnection
  readonly #stopping: AbortSignal
  #signal: AbortSignal | undefined

  constructor(request: FastifyRequest, connection: ClientConnection, stopping: AbortSignal) {
    this.requestId = request.id
    this.method = request.method
    this.headers = request.headers
    this.socketAddress = request.raw.socket.remoteAddress ?? ''
    this.path = isTexts(request.params) ? request.params : NO_PATH
    this.query = request.query instanceof Map ? request.query : NO_QUERY
    this.body = request.body
    this.#connection = connection
    this.#stopping = stopping
  }

  get signal(): AbortSignal {
    this.#signal ??= AbortSignal.any([this.#stopping, this.#connection.gone])
    return this.#signal
  }

  isCut(): boolean {
    return this.#connection.isCut
  }
}

/** Null or an empty record without parameters. */
function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return typeof value === 'object' && value !== null
}

/** A Map makes `__proto__` harmless (WHATWG URL). Node's header limit bounds the length. */
export function parseQuery(text: string): HttpQuery {
  if (text === '') return NO_QUERY
  const query = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(text)) {
    const values = query.get(name)
    if (values === undefined) query.set(name, [value])
    else values.push(value)
  }
  return query
}
