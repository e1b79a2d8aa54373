import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'

/** A request as routes and pages see it: an HTTP request, or a tool call inside of one. */
export interface Call {
  /** Never taken from a header. */
  readonly requestId: string
  readonly method: string
  /** Repeated headers are joined by commas, so that none is hidden. */
  readonly headers: IncomingHttpHeaders
  /** The counted address: one IPv4 or one IPv6 /64. */
  readonly addressBucket: string
  readonly path: Readonly<Record<string, string>>
  readonly query: HttpQuery
  /** Path and query, rebuilt from parsed values, so that no raw input reaches an answer. */
  readonly target: string
  /** BROKEN_BODY when unreadable. */
  readonly body: unknown
  /** Client left or server stopping. */
  readonly signal: AbortSignal
  /** Whether no answer can reach the client any more. */
  isCut(): boolean
}

export type HttpQuery = ReadonlyMap<string, readonly string[]>

export interface Outgoing {
  readonly status: number
  /** Names and values in turn. */
  readonly headers: string[]
  readonly body: string | Uint8Array
  /** Replaces the body; pulled as the client reads. */
  readonly stream?: (signal: AbortSignal) => AsyncIterable<string | Buffer>
}

/** A class: object literals with getters are slow to collect. */
export class HttpCall implements Call {
  readonly requestId: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly addressBucket: string
  readonly path: Readonly<Record<string, string>>
  readonly query: HttpQuery
  readonly body: unknown
  readonly #request: FastifyRequest
  readonly #stopping: AbortSignal
  #signal: AbortSignal | undefined

  constructor(request: FastifyRequest, addressBucket: string, stopping: AbortSignal) {
    this.requestId = request.id
    this.method = request.method
    this.headers = request.headers
    this.addressBucket = addressBucket
    this.path = isTexts(request.params) ? request.params : {}
    this.query = request.query instanceof Map ? request.query : NO_QUERY
    this.body = request.body
    this.#request = request
    this.#stopping = stopping
  }

  get target(): string {
    const pattern = this.#request.routeOptions.url ?? ''
    return targetOf(pattern.replace(/:(\w+)/g, '{$1}'), this.path, this.query)
  }

  /** Creating a signal costs more than most answers. */
  get signal(): AbortSignal {
    this.#signal ??= AbortSignal.any([this.#stopping, this.#request.signal])
    return this.#signal
  }

  isCut(): boolean {
    const { socket } = this.#request.raw
    return socket.destroyed || !socket.writable
  }
}

export function targetOf(pattern: string, path: Call['path'], query: HttpQuery): string {
  const plain = pattern.replace(/\{([^}]+)\}/g, (_, name: string) =>
    encodeURIComponent(path[name] ?? ''),
  )
  const pairs = [...query].flatMap(([name, values]) => values.map((value) => [name, value]))
  return pairs.length === 0 ? plain : `${plain}?${new URLSearchParams(pairs)}`
}

/** Null without parameters. */
function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return typeof value === 'object' && value !== null
}

export const NO_QUERY: HttpQuery = new Map()

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
