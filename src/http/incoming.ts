import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Connection } from './connection.ts'
import type { Incoming } from './exchange.ts'

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
  readonly #connection: Connection
  readonly #stopping: AbortSignal
  #signal: AbortSignal | undefined

  constructor(request: FastifyRequest, connection: Connection, stopping: AbortSignal) {
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
