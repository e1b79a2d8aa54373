import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyError, type FastifyInstance } from 'fastify'
import { HttpAdapter, type HttpAdapterDeps, PATH_PARAMETER_MAX } from './adapter.ts'
import { CONNECTION_LIMITS, type ConnectionLimits, Connections } from './connections.ts'
import type { HttpEndpoint } from './exchange.ts'
import { readJsonBodies } from './json-body.ts'
import { SocketRefuser } from './refuse-socket.ts'
import { BODY_BYTES_MAX, type HttpQuery, parseQuery } from './request.ts'

export interface ServerDeps extends HttpAdapterDeps {
  /** Undefined for a trusted proxy, which carries many clients. */
  socketOwner(socketAddress: string): string | undefined
  readonly connectionLimits?: Partial<ConnectionLimits>
}

export interface HttpServer {
  /** Returns the port. */
  listen(input: { readonly host: string; readonly port: number }): Promise<number>
  /** Makes each answer end its connection; new connections are still accepted. */
  drain(): void
  stop(): Promise<void>
}

/** Limits slow senders (Slowloris). */
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 15_000

/** Node's 30 s would undo the limits above. */
const CHECK_INTERVAL_MS = 5_000

/** A connection beyond the backlog, 511 in Node, loses a second until its next SYN. */
const BACKLOG = 4_096

export function createServer(deps: ServerDeps): HttpServer {
  const connections = new Connections({
    limits: { ...CONNECTION_LIMITS, ...deps.connectionLimits },
    ownerOf: deps.socketOwner,
  })
  const adapter = new HttpAdapter(deps, connections)
  const sockets = new SocketRefuser({ ...deps, connections })
  const app = openFastify(deps, adapter, sockets)
  readJsonBodies(app)
  app.addHook('onRequest', adapter.enter.bind(adapter))
  app.setErrorHandler<FastifyError>((error, request, reply) =>
    adapter.failed(error, request, reply),
  )
  for (const endpoint of deps.endpoints) addEndpoint(app, adapter, endpoint)
  sockets.watch(app.server)
  connections.watch(app.server)
  return {
    async listen(input) {
      await app.listen({ ...input, backlog: BACKLOG })
      return (app.server.address() as AddressInfo).port
    },
    drain: () => adapter.drain(),
    async stop() {
      // Close now; Fastify would some turns later.
      app.server.close()
      adapter.stopping.abort()
      await app.close()
    },
  }
}

function openFastify(
  deps: ServerDeps,
  adapter: HttpAdapter,
  sockets: SocketRefuser,
): FastifyInstance {
  return Fastify({
    bodyLimit: BODY_BYTES_MAX,
    exposeHeadRoutes: false,
    // Open connections are answered while stopping.
    return503OnClosing: false,
    // `Connections` closes idle sockets with one timer.
    keepAliveTimeout: 0,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      joinDuplicateHeaders: true,
      // Node's own 400 lacks our headers.
      requireHostHeader: false,
    },
    // Unused; skipping the compilers starts faster.
    schemaController: {
      compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler },
    },
    genReqId: deps.newRequestId,
    routerOptions: {
      // Read only by `ServerIncoming`, as a Map.
      querystringParser: parseQuery as (text: string) => HttpQuery & Record<string, never>,
      maxParamLength: PATH_PARAMETER_MAX,
    },
    frameworkErrors: (_error, request, reply) => void adapter.misread(request, reply),
    clientErrorHandler: (error, socket) => sockets.refuseBroken(error, socket),
  })
}

function noCompiler(): never {
  throw new Error('no route gives Fastify a schema')
}

function addEndpoint(app: FastifyInstance, adapter: HttpAdapter, endpoint: HttpEndpoint): void {
  app.route({
    method: endpoint.method === 'GET' ? ['GET', 'HEAD'] : 'POST',
    url: endpoint.path.replace(/\{([^}]+)\}/g, ':$1'),
    handler: adapter.answer.bind(adapter, endpoint),
  })
}
