import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyError, type FastifyInstance } from 'fastify'
import { createServer as createNodeServer } from '#lib/node-http.ts'
import { keepTicksQuick } from '#lib/quick-ticks.ts'
import { BODY_BYTES_MAX } from './check-framing.ts'
import { CONNECTION_LIMITS, type ConnectionLimits, Connections } from './connections.ts'
import type { Endpoint } from './exchange.ts'
import { Host, type HostDeps, PATH_PARAMETER_MAX } from './host.ts'
import { readJsonBodies } from './json-body.ts'
import { parseQuery } from './parse-query.ts'
import { answerBrokenSockets } from './reject-socket.ts'

export interface ServerDeps extends HostDeps {
  /** Whose socket it is; undefined for a proxy of ours, which holds the sockets of many. */
  socketOwner(socketAddress: string): string | undefined
  readonly connectionLimits?: Partial<ConnectionLimits>
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

const HTTP_OPTIONS = {
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  // Timers for each request, 5 % of a call: `Connections` ends idle sockets instead, and silent ones.
  keepAliveTimeout: 0,
  connectionsCheckingInterval: CHECK_INTERVAL_MS,
  joinDuplicateHeaders: true,
  // Node's own 400 would lack our headers.
  requireHostHeader: false,
} as const

/** Builds the server; it neither listens nor opens anything until told. */
export function createServer(deps: ServerDeps): HttpServer {
  const app = Fastify({
    bodyLimit: BODY_BYTES_MAX,
    exposeHeadRoutes: false,
    // Its 503 would lack our headers; requests on open connections are answered while stopping.
    return503OnClosing: false,
    serverFactory: (route) =>
      createNodeServer(HTTP_OPTIONS, (request, response) => {
        host.repeated.arrived(response)
        if (!host.takes(request, response)) route(request, response)
      }),
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
  const host = new Host(deps, connections)
  readJsonBodies(app)
  app.addHook('onRequest', (request, reply, done) => {
    if (host.passes(request, reply)) done()
  })
  app.setErrorHandler<FastifyError>((error, request, reply) => host.failed(error, request, reply))
  app.setNotFoundHandler((request, reply) => host.unmatched(request, reply))
  for (const endpoint of deps.endpoints) addEndpoint(app, host, endpoint)
  const { deny, newRequestId } = deps
  const { heads } = host
  answerBrokenSockets(app.server, { deny, newRequestId, connections, heads })
  connections.watch(app.server)
  host.repeated.watch(app.server)
  return {
    async listen(input) {
      await keepTicksQuick()
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
      host.answer(endpoint, request, reply.hijack().raw)
    },
  })
}
