import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { Counter, Histogram } from 'prom-client'
import { findAddressBucket } from '#accounts/metering/callers.ts'
import { answerMcp } from '#api/mcp.ts'
import { metered, unmetered } from '#api/metered.ts'
import type { Page } from '#api/pages.ts'
import { CONSTANT_HEADERS, preflightHeaders, refuseFailure } from '#api/wire.ts'
import { type Refusal, refuse } from '#base/refusal.ts'
import { type Context, getRegistry, oncePerContext } from '#context.ts'
import {
  BROKEN_BODY,
  type Call,
  type HttpQuery,
  NO_QUERY,
  type Outgoing,
  type Route,
  toTarget,
} from '#route.ts'

export interface ApiDeps {
  readonly ctx: Context
  readonly routes: readonly Route[]
  readonly pages: readonly Page[]
  /** Routes of parts that this service lacks: refused and undocumented. */
  readonly unconfigured?: readonly UnconfiguredRoute[]
  readonly stillMs?: number
}

export interface UnconfiguredRoute extends Pick<Route, 'method' | 'path'> {
  readonly refusal: Refusal
}

export type HttpServer = ReturnType<typeof createApi>

export const BODY_BYTES_MAX = 8_192

/** As long as headers may be, so that our own parsers explain wrong lengths. */
const PATH_PARAMETER_MAX = 16_384

/** Limits slow senders (Slowloris); Node's check every 30 s would undo them. */
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 15_000
const CHECK_INTERVAL_MS = 5_000

/** Longer than clients pause, short enough to free idle sockets. */
const IDLE_MS = 10_000

/** Closes connections without a byte in either direction for this long. */
const STILL_MS = 60_000

/** About 10 KB each, so they fit into memory. */
const CONNECTIONS_MAX = 10_000

/** Connections beyond the backlog (511 in Node) wait a second for their next SYN. */
const BACKLOG = 4_096

/** Grace at shutdown for unfinished requests and unread answers. */
const STOP_MS = 20_000

export function createApi(deps: ApiDeps) {
  const stopping = new AbortController()
  const { ctx } = deps
  getRequestMetrics(ctx)
  let isDraining = false
  const app = Fastify({
    bodyLimit: BODY_BYTES_MAX,
    exposeHeadRoutes: false,
    // Open connections are answered while stopping.
    return503OnClosing: false,
    keepAliveTimeout: IDLE_MS,
    connectionTimeout: deps.stillMs ?? STILL_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      joinDuplicateHeaders: true,
      // Node's own 400 lacks our headers.
      requireHostHeader: false,
    },
    genReqId: () => randomUUID(),
    routerOptions: {
      // Read only by `HttpCall`, as a Map.
      querystringParser: parseQuery as (text: string) => HttpQuery & Record<string, never>,
      maxParamLength: PATH_PARAMETER_MAX,
    },
    frameworkErrors: (_error, request, reply) => void unmatched(request, reply),
  })
  app.server.maxConnections = CONNECTIONS_MAX
  // Node itself refuses what is not HTTP, without breaking into an earlier answer as Fastify's handler may.
  app.server.removeAllListeners('clientError')
  // Ignores the header Expect (RFC 9110, 10.1.1), because Node's own 417 lacks our headers.
  app.server.on('checkExpectation', (...exchange) => app.server.emit('request', ...exchange))
  readJsonBodies(app)

  const callOf = (request: FastifyRequest) => {
    const bucket = findAddressBucket(ctx, request.socket.remoteAddress ?? '', request.headers)
    return new HttpCall(request, bucket, stopping.signal)
  }
  /** Every answer is written here. */
  const send = (call: HttpCall, reply: FastifyReply, outgoing: Outgoing, route?: string) => {
    const { requestId, method } = call
    const { status, headers, body, stream } = outgoing
    reply.code(status).headers(headers).headers(CONSTANT_HEADERS).header('x-request-id', requestId)
    if (isDraining) reply.header('connection', 'close')
    observe(ctx, call, { route, status, durationMs: reply.elapsedTime })
    // The call's signal ends the stream when the client leaves or the server stops.
    if (stream !== undefined && method !== 'HEAD')
      return reply.send(Readable.from(stream(call.signal), { objectMode: false }))
    return reply.send(status === 204 || status === 304 ? undefined : body)
  }
  /** Answers what no endpoint does. */
  const answerHere = async (
    request: FastifyRequest,
    reply: FastifyReply,
    answer: Outgoing | Refusal,
  ) => {
    const call = callOf(request)
    return send(call, reply, await unmetered(ctx, call, async () => answer))
  }
  const endpoints = listEndpoints(deps)
  const allowOf = allowedMethods(endpoints)
  const unmatched = (request: FastifyRequest, reply: FastifyReply) => {
    const path = parsePath(request.url)
    const allow = isCanonical(path) ? allowOf(path) : undefined
    return request.method === 'OPTIONS' && allow !== undefined
      ? answerHere(request, reply, { status: 204, headers: preflightHeaders(allow), body: '' })
      : answerHere(request, reply, refuseUnmatched(allow))
  }

  app.addHook('onRequest', async (request, reply) => {
    if (request.is404 || !isCanonical(parsePath(request.url))) return unmatched(request, reply)
    const refusal = unfit(request)
    // Skips reading the body.
    if (refusal !== undefined)
      return answerHere(request, reply.header('connection', 'close'), refusal)
    // Some clients send a type without a body.
    if (!hasBody(request.headers)) delete request.headers['content-type']
  })
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    // One of these headers may be what failed.
    for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name)
    const refusal = refuseBody(error) ?? refuseFailure(ctx, error, request.id)
    return answerHere(request, reply, refusal)
  })
  for (const { method, path, respond } of endpoints)
    app.route({
      method: method === 'GET' ? ['GET', 'HEAD'] : 'POST',
      url: path.replace(/\{([^}]+)\}/g, ':$1'),
      handler: async (request, reply) => {
        const call = callOf(request)
        return send(call, reply, await respond(call), path)
      },
    })
  return {
    /** Resolves to the port. */
    async listen(input: { readonly host: string; readonly port: number }) {
      await app.listen({ ...input, backlog: BACKLOG })
      return (app.server.address() as AddressInfo).port
    },
    /** Makes each answer end its connection; new connections are still accepted. */
    drain() {
      isDraining = true
    },
    async stop() {
      stopping.abort()
      const late = setTimeout(() => app.server.closeAllConnections(), STOP_MS)
      // The connection of a stream is idle once its last event is sent.
      const idle = setInterval(() => app.server.closeIdleConnections(), 100)
      await app.close()
      clearInterval(idle)
      clearTimeout(late)
    },
  }
}

type Endpoint = ReturnType<typeof listEndpoints>[number]

/** Their paths are in OpenAPI form: `/api/dividends/{address}`. GET also answers HEAD. */
function listEndpoints({ ctx, routes, pages, unconfigured = [] }: ApiDeps) {
  const free = (method: Route['method'], path: string, read: Page['read']) => ({
    method,
    path,
    respond: (call: HttpCall) => unmetered(ctx, call, read),
  })
  return [
    ...routes.map((route) => ({
      ...route,
      respond: (call: HttpCall) => metered(ctx, route, call),
    })),
    ...pages.map(({ path, read }) => free('GET', path, read)),
    ...unconfigured.map(({ method, path, refusal }) => free(method, path, async () => refusal)),
    free('POST', '/mcp', (call) => answerMcp(ctx, routes, call)),
  ]
}

/** Counts and logs an answer by its route, never by values, because people paste keys into URLs. */
function observe(
  ctx: Context,
  { requestId, method, addressBucket: client }: Call,
  answered: { readonly route: string | undefined; status: number; durationMs: number },
): void {
  const { route = 'none', status, durationMs } = answered
  const { requests, durations } = getRequestMetrics(ctx)
  requests.inc({ route, status: `${Math.floor(status / 100)}xx` })
  durations.observe({ route }, durationMs / 1_000)
  if (isLogged(ctx)) ctx.logger.debug({ requestId, method, client, ...answered }, 'answered')
}

const getRequestMetrics = oncePerContext((ctx) => ({
  requests: new Counter({
    name: 'sexton_requests_total',
    help: 'Answered requests by route and class of status',
    labelNames: ['route', 'status'],
    registers: [getRegistry(ctx)],
  }),
  durations: new Histogram({
    name: 'sexton_request_duration_seconds',
    help: 'Time from the headers of a request to its answer',
    labelNames: ['route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [getRegistry(ctx)],
  }),
}))

const isLogged = oncePerContext(({ config }) => ['debug', 'trace'].includes(config.log.level))

/** Reads origin-form or absolute-form (RFC 9112, 3.2.2). */
function parsePath(target: string): string {
  const path = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')
  const end = path.indexOf('?')
  return end === -1 ? path : path.slice(0, end)
}

/** Our paths need no escapes, so an escape, fragment or segment parameter is an attempt at an alias. */
function isCanonical(path: string): boolean {
  return /^\/[!-~]*$/.test(path) && !/[%#;\\]/.test(path)
}

function refuseUnmatched(allow: string | undefined): Refusal {
  if (allow === undefined)
    return refuse('not_found', 'there is nothing at this path; the documentation is at /scalar/v1')
  return refuse('method_not_allowed', `this path supports only ${allow}`, {
    headers: { Allow: allow },
  })
}

/** Checks headers before the body is read. An empty body without a length, as HTTP/2 proxies send it, counts as none. */
function unfit({ raw: { headers, httpVersion, method } }: FastifyRequest): Refusal | undefined {
  const { host } = headers
  // RFC 9112, 3.2. Node joins repeated headers with a comma.
  if (host === undefined ? httpVersion !== '1.0' : /[,\s]/.test(host))
    return refuse('invalid_parameter', 'the Host header must name one host')
  if (method !== 'POST' && (headers['content-length'] ?? '0') !== '0')
    return refuse('invalid_body', `${method} takes no body`)
  if (method !== 'POST' || !hasBody(headers)) return undefined
  if (headers['content-encoding'] !== undefined)
    return refuse('unsupported_media_type', 'send the body without Content-Encoding')
  if (!JSON_BODY_TYPE.test(headers['content-type'] ?? ''))
    return refuse('unsupported_media_type', 'send the body as application/json in UTF-8')
  return undefined
}

function hasBody(headers: FastifyRequest['headers']): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

function refuseBody({ code, statusCode }: FastifyError): Refusal | undefined {
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return refuse('payload_too_large', `the body may have at most ${BODY_BYTES_MAX} bytes`)
  if (statusCode === 400)
    return refuse('invalid_body', 'the length of the body differs from Content-Length')
  return undefined
}

/** A class, because object literals with getters are slow to collect. */
class HttpCall implements Call {
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
    // Fastify passes null if there are no parameters.
    this.path = (request.params ?? {}) as Call['path']
    this.query = request.query instanceof Map ? request.query : NO_QUERY
    this.body = request.body
    this.#request = request
    this.#stopping = stopping
  }

  get target(): string {
    const pattern = this.#request.routeOptions.url ?? ''
    return toTarget(pattern.replace(/:(\w+)/g, '{$1}'), this.path, this.query)
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

/** Uses a Map to make `__proto__` harmless (WHATWG URL). Node's header limit bounds the length. */
function parseQuery(text: string): HttpQuery {
  if (text === '') return NO_QUERY
  const pairs = Map.groupBy(new URLSearchParams(text), ([name]) => name)
  return new Map([...pairs].map(([name, own]) => [name, own.map(([, value]) => value)]))
}

/** Allows white space around the semicolon (RFC 9110, 8.3.1) and the usual misspelling of UTF-8. */
const JSON_BODY_TYPE = /^application\/json(?: ?; ?charset="?utf-?8"?)?$/i

/** The server checks `JSON_BODY_TYPE` before, because Fastify ignores broken parameters. */
function readJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (request, bytes, done) => {
    try {
      const text = utf8.decode(bytes)
      void parse(request, text, (error, body) => done(null, error === null ? body : BROKEN_BODY))
    } catch {
      done(null, BROKEN_BODY)
    }
  })
}

/** Finds the methods of a path, as in `Allow`; undefined for an unknown path. */
function allowedMethods(endpoints: readonly Endpoint[]): (path: string) => string | undefined {
  const byPath = Map.groupBy(endpoints, ({ path }) => path)
  const entries = [...byPath].map(([path, own]) => {
    const methods = own.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    const parts = path.split(/\{[^}]+\}/).map(RegExp.escape)
    return {
      pattern: new RegExp(`^${parts.join('[^/]+')}$`),
      isLiteral: parts.length === 1,
      allow: [...methods, 'OPTIONS'].sort().join(', '),
    }
  })
  // Matches literal paths first, as the router does.
  entries.sort((a, b) => Number(b.isLiteral) - Number(a.isLiteral))
  return (path) => entries.find((entry) => entry.pattern.test(path))?.allow
}
