import type { IncomingHttpHeaders } from 'node:http'
import type { Incoming } from './exchange.ts'
import { parseQuery } from './parse-query.ts'
import type { Reply } from './reply.ts'

const NO_PATH: Readonly<Record<string, string>> = Object.freeze({})
const NO_QUERY = parseQuery('')

/** A request as Node and the router have read it. */
export interface Arrival {
  readonly id: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  /** Parameters in the path by name. */
  readonly params: unknown
  readonly query: unknown
  readonly body?: unknown
}

/** The request as endpoints see it. */
export function readIncoming(request: Arrival, reply: Reply, stopping: AbortSignal): Incoming {
  return new ServerIncoming(request, reply, stopping)
}

class ServerIncoming implements Incoming {
  readonly requestId: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly socketAddress: string
  readonly path: Readonly<Record<string, string>>
  readonly query: ReadonlyMap<string, readonly string[]>
  readonly body: unknown
  readonly #reply: Reply
  readonly #stopping: AbortSignal
  #signal: AbortSignal | undefined

  constructor(request: Arrival, reply: Reply, stopping: AbortSignal) {
    this.requestId = request.id
    this.method = request.method
    this.headers = request.headers
    this.socketAddress = reply.socketAddress
    this.path = isTexts(request.params) ? request.params : NO_PATH
    this.query = request.query instanceof Map ? request.query : NO_QUERY
    this.body = request.body
    this.#reply = reply
    this.#stopping = stopping
  }

  /** Made when first asked for: most handlers finish long before anybody could go away. */
  get signal(): AbortSignal {
    this.#signal ??= AbortSignal.any([this.#stopping, this.#reply.goneSignal()])
    return this.#signal
  }
}

/** The router gives one text per path parameter, and null or an empty record where there is none. */
function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return typeof value === 'object' && value !== null
}
