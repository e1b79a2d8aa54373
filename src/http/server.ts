import type { AddressInfo } from 'node:net'
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { BODY_BYTES_MAX, checkFraming, namesHost, tooLarge } from './check-framing.ts'
import { CONNECTION_LIMITS, type ConnectionLimits, Connections } from './connections.ts'
import type { Endpoint, Incoming, Outgoing } from './exchange.ts'
import { readIncoming } from './incoming.ts'
import { readJsonBodies } from './json-body.ts'
import { makeQueryParser } from './parse-query.ts'
import { indexPaths, isCanonical, type PathIndex, pathOf } from './path-index.ts'
import { answerBrokenSockets } from './reject-socket.ts'
import { send } from './send.ts'

export interface ServerDeps {
  readonly endpoints: readonly Endpoint[]
  /** Puts a refusal that no endpoint gave into wire form; `headers` are names and values in turn. */
  deny(incoming: Incoming, refusal: Refusal, headers: readonly string[]): Promise<Outgoing>
  /** The static answer to OPTIONS. */
  preflight(incoming: Incoming, allow: string): Promise<Outgoing>
  newRequestId(): string
  /** Whose socket it is; undefined for a proxy of ours, which holds the sockets of many. */
  socketOwner(socketAddress: string): string | undefined
  readonly connectionLimits?: Partial<ConnectionLimits>
  /** An error that nobody foresaw; the caller reads only the request id. */
  report(error: unknown, requestId: string): void
  /** Counts an answered request; `path` is undefined where no endpoint answered. */
  observe?(path: string | undefined, status: number, durationMs: number): void
}

export interface HttpServer {
  /** Listens and gives the port; port 0 takes a free one. */
  listen(input: { readonly host: string; readonly port: number }): Promise<number>
  /** Accepts nothing new and resolves when the requests in flight are answered. */
  stop(): Promise<void>
}

/** Slow senders hold a socket no longer than this (Slowloris); a request here is under 24 KiB. */
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 15_000

/** Node looks for late requests this often; its default of 30 s would undo the limits above. */
const CHECK_INTERVAL_MS = 5_000

/** Longer than what clients think between two calls, short enough to free idle sockets. */
const KEEP_ALIVE_MS = 10_000

/** A silent connection is dropped; longer than the longest long poll (30 s). */
const SILENCE_MS = 60_000

/** No parameter of ours is longer; shorter ones get the answer of their own parser. */
const PATH_PARAMETER_MAX = 512

/** Builds the server; it neither listens nor opens anything until told. */
export function createServer(deps: ServerDeps): HttpServer {
  const parseQuery = makeQueryParser()
  const app = Fastify({
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionTimeout: SILENCE_MS,
    exposeHeadRoutes: false,
    // Its 503 would lack our headers; requests on open connections are answered while stopping.
    return503OnClosing: false,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      joinDuplicateHeaders: true,
      // Node's own 400 would lack our headers.
      requireHostHeader: false,
    },
    // Routes check and write by themselves; Fastify's own compilers are 100 files that nobody uses.
    schemaController: {
      compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler },
    },
    genReqId: () => deps.newRequestId(),
    routerOptions: {
      // Fastify types a parsed query as a record; only `readIncoming` reads it, as the Map it is.
      querystringParser: (text) =>
        parseQuery(text) as ReturnType<typeof parseQuery> & Record<string, never>,
      maxParamLength: PATH_PARAMETER_MAX,
    },
    frameworkErrors: (_error, request, reply) => host.misread(request, reply),
  })
  const connections = new Connections({
    limits: { ...CONNECTION_LIMITS, ...deps.connectionLimits },
    ownerOf: deps.socketOwner,
  })
  const host = new Host(deps, indexPaths(deps.endpoints), connections)
  readJsonBodies(app)
  app.addHook('onRequest', (request, reply, done) => {
    if (host.passes(request, reply)) done()
  })
  app.setErrorHandler<FastifyError>((error, request, reply) => host.failed(error, request, reply))
  app.setNotFoundHandler((request, reply) => host.unmatched(request, reply))
  for (const endpoint of deps.endpoints) addEndpoint(app, host, endpoint)
  const { deny, newRequestId } = deps
  answerBrokenSockets(app.server, { deny, newRequestId, connections })
  connections.watch(app.server)
  return {
    async listen(input) {
      await app.listen(input)
      return (app.server.address() as AddressInfo).port
    },
    async stop() {
      host.stopping.abort()
      await app.close()
    },
  }
}

function noCompiler(): never {
  throw new Error('no route gives Fastify a schema')
}

function addEndpoint(app: FastifyInstance, host: Host, endpoint: Endpoint): void {
  app.route({
    method: endpoint.method === 'GET' ? ['GET', 'HEAD'] : 'POST',
    url: endpoint.path.replace(/\{([^}]+)\}/g, ':$1'),
    handler: (request, reply) => {
      const incoming = host.incoming(request, reply)
      host.finish(incoming, reply, endpoint.path, endpoint.respond(incoming))
    },
  })
}

/** What every request meets around its endpoint. */
class Host {
  readonly stopping = new AbortController()
  readonly #deps: ServerDeps
  readonly #paths: PathIndex
  readonly #connections: Connections

  constructor(deps: ServerDeps, paths: PathIndex, connections: Connections) {
    this.#deps = deps
    this.#paths = paths
    this.#connections = connections
  }

  /** Path and method, then size and type, before anything else of a request is looked at. */
  passes(request: FastifyRequest, reply: FastifyReply): boolean {
    if (!this.#begins(request, reply)) return false
    if (request.is404 || !isCanonical(pathOf(request.raw.url ?? ''))) {
      this.unmatched(request, reply)
      return false
    }
    const refusal = checkFraming(request.raw)
    if (refusal === undefined) return true
    this.#denyLast(request, reply, refusal)
    return false
  }

  /** What the router could not read, before any hook: the path, or a parameter in it. */
  misread(request: FastifyRequest, reply: FastifyReply): void {
    if (this.#begins(request, reply)) this.unmatched(request, reply)
  }

  /** No endpoint: a preflight, a known path with another method, or no such path. */
  unmatched(request: FastifyRequest, reply: FastifyReply): void {
    const path = pathOf(request.raw.url ?? '')
    const allow = isCanonical(path) ? this.#paths.allow(path) : undefined
    if (allow === undefined)
      this.#deny(
        request,
        reply,
        refuse('not_found', 'there is nothing at this path; the documentation is at /scalar/v1'),
      )
    else if (request.method === 'OPTIONS') {
      const incoming = this.incoming(request, reply)
      this.finish(incoming, reply, undefined, this.#deps.preflight(incoming, allow))
    } else if (allow.split(', ').includes(request.method)) {
      const message = `a parameter in the path may have at most ${PATH_PARAMETER_MAX} characters`
      this.#deny(request, reply, refuse('invalid_parameter', message))
    } else {
      const refusal = refuse('method_not_allowed', `this path answers ${allow}`)
      this.#deny(request, reply, refusal, ['Allow', allow])
    }
  }

  /** Errors of Fastify itself, all of them about the body. */
  failed(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
    const refusal = refusalOf(error)
    if (refusal.code === 'internal_error') this.#deps.report(error, request.id)
    this.#denyLast(request, reply, refusal)
  }

  incoming(request: FastifyRequest, reply: FastifyReply): Incoming {
    reply.hijack()
    this.#connections.answering(request.raw.socket, reply.raw)
    return readIncoming(request, reply.raw, this.stopping.signal)
  }

  /** Sends what comes; a failure to answer is itself answered. */
  finish(
    incoming: Incoming,
    reply: FastifyReply,
    path: string | undefined,
    outgoing: Promise<Outgoing>,
  ): void {
    const started = performance.now()
    const { socket } = reply.request.raw
    const write = (done: Outgoing) => {
      send(reply.raw, done, {
        requestId: incoming.requestId,
        close: this.stopping.signal.aborted || this.#connections.isLast(socket, reply.raw),
      })
      this.#deps.observe?.(path, done.status, performance.now() - started)
    }
    outgoing.then(write).catch((error: unknown) => {
      this.#deps.report(error, incoming.requestId)
      const refusal = refuse('internal_error', 'the server failed; the request id names the case')
      this.#deps.deny(incoming, refusal, []).then(write, () => reply.raw.destroy())
    })
  }

  /** False for a request that is not looked at, or that is refused for naming no host. */
  #begins(request: FastifyRequest, reply: FastifyReply): boolean {
    if (!this.#connections.begin(request.raw.socket, reply.raw)) {
      reply.hijack()
      return false
    }
    if (namesHost(request.raw)) return true
    this.#denyLast(request, reply, refuse('invalid_parameter', 'the Host header is missing'))
    return false
  }

  /** Ends the connection too: an unread body would be taken for the next request. */
  #denyLast(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): void {
    this.#connections.end(request.raw.socket)
    this.#deny(request, reply, refusal)
  }

  #deny(
    request: FastifyRequest,
    reply: FastifyReply,
    refusal: Refusal,
    headers: readonly string[] = [],
  ): void {
    const incoming = this.incoming(request, reply)
    this.finish(incoming, reply, undefined, this.#deps.deny(incoming, refusal, headers))
  }
}

function refusalOf(error: FastifyError): Refusal {
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge()
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return refuse('unsupported_media_type', 'send the body as application/json in UTF-8')
  if (error.statusCode === 400)
    return refuse('invalid_body', 'the body does not have the announced length')
  return refuse('internal_error', 'the server failed; the request id names the case')
}
