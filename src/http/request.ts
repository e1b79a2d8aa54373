import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { type Refusal, refuse } from '#domain/refusal.ts'
import type { ClientConnection } from './connections.ts'
import type { Incoming } from './exchange.ts'

/** Every body of this API is a few fields; a longer one is a mistake or an attack. */
export const BODY_BYTES_MAX = 8_192

/** Exactly these spellings, so that no odd white space reads differently at a proxy. */
const JSON_TYPE = /^application\/json(?:; ?charset="?utf-8"?)?$/i

/** Refuses a request without a host, or with two (RFC 9112, 3.2); Node joins them with a comma. */
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

/** Whether a body was announced, be it in chunks. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/** Size and type of a request, judged by its headers before a byte of the body is read. */
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

/** The refusal of a body over the limit, known from its length or met while reading. */
export function tooLarge(): Refusal {
  return refuse('payload_too_large', `the body may have at most ${BODY_BYTES_MAX} bytes`)
}

/** The path of a request target: origin form, absolute form (RFC 9112, 3.2.2) or anything else. */
export function pathOf(target: string): string {
  const path = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')
  const end = path.indexOf('?')
  return end === -1 ? path : path.slice(0, end)
}

/**
 * Whether the path is written in the one way that this API knows. No path here needs an escape, so
 * an escape, a fragment or a parameter of a path segment is an attempt at an alias.
 */
export function isCanonical(path: string): boolean {
  for (let index = 0; index < path.length; index += 1) {
    const code = path.charCodeAt(index)
    if (code === 37 || code === 35 || code === 59 || code === 92 || code < 33 || code > 126)
      return false
  }
  return path.startsWith('/')
}

/** Every value of every parameter. */
type Query = ReadonlyMap<string, readonly string[]>

export const NO_QUERY: Query = new Map()

const NO_PATH: Readonly<Record<string, string>> = Object.freeze({})

/** The request as endpoints see it. `stopping` aborts when the server stops. */
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
}

/** The router gives one text per path parameter, and null or an empty record without any. */
function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return typeof value === 'object' && value !== null
}

/**
 * Every value of every parameter, in order. A Map, so that a parameter named `__proto__` is only a
 * name (WHATWG URL, application/x-www-form-urlencoded). The length is bounded by Node's header limit.
 */
export function parseQuery(text: string): Query {
  if (text === '') return NO_QUERY
  const query = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(text)) {
    const values = query.get(name)
    if (values === undefined) query.set(name, [value])
    else values.push(value)
  }
  return query
}
