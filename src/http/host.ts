import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { systemClock } from '#lib/clock.ts'
import { checkFraming, namesHost, tooLarge } from './check-framing.ts'
import type { Connections } from './connections.ts'
import type { Endpoint, Incoming, Outgoing } from './exchange.ts'
import { HeadWriter } from './head-writer.ts'
import { type Arrival, readIncoming } from './incoming.ts'
import { LiteralPaths } from './literal-paths.ts'
import { NodeReply } from './node-reply.ts'
import { indexPaths, isCanonical, type PathIndex, pathOf } from './path-index.ts'
import type { KnownRequest } from './repeated/known-requests.ts'
import { RepeatedRequests } from './repeated/repeated-requests.ts'
import type { Reply } from './reply.ts'

export interface HostDeps {
  readonly endpoints: readonly Endpoint[]
  /** Puts a refusal that no endpoint gave into wire form; `headers` are names and values in turn. */
  deny(incoming: Incoming, refusal: Refusal, headers: readonly string[]): Promise<Outgoing>
  /** The static answer to OPTIONS. */
  preflight(incoming: Incoming, allow: string): Promise<Outgoing>
  newRequestId(): string
  /** An error that nobody foresaw; the caller reads only the request id. */
  report(error: unknown, requestId: string): void
  /** Counts an answered request; `path` is undefined where no endpoint answered. */
  observe?(path: string | undefined, status: number, durationMs: number): void
}

/** No parameter of ours is longer; shorter ones get the answer of their own parser. */
export const PATH_PARAMETER_MAX = 512

/** What every request meets around its endpoint. */
export class Host {
  readonly stopping = new AbortController()
  readonly heads = new HeadWriter({ clock: systemClock })
  readonly repeated: RepeatedRequests
  readonly #deps: HostDeps
  readonly #paths: PathIndex
  readonly #literals: LiteralPaths
  readonly #connections: Connections

  constructor(deps: HostDeps, connections: Connections) {
    this.#deps = deps
    this.#paths = indexPaths(deps.endpoints)
    this.#literals = new LiteralPaths(deps.endpoints)
    this.#connections = connections
    this.repeated = new RepeatedRequests({
      connections,
      heads: this.heads,
      answer: (request, reply) => this.#answerAgain(request, reply),
    })
  }

  /**
   * Answers a well-formed GET of a path without parameters; false leaves the request to the router,
   * which would come to the same endpoint by a way three times as long.
   */
  takes(request: IncomingMessage, response: ServerResponse): boolean {
    const found = this.#literals.find(request)
    if (found === undefined || !namesHost(request) || checkFraming(request) !== undefined)
      return false
    if (!this.#connections.of(request.socket).begin(response)) return true
    const { headers, method = '' } = request
    const { endpoint, query } = found
    const arrival = { id: this.#deps.newRequestId(), method, headers, params: null, query }
    this.answer(endpoint, arrival, response)
    return true
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
      const { incoming, to } = this.#arrived(request, reply.hijack().raw)
      this.#finish(incoming, to, undefined, this.#deps.preflight(incoming, allow))
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

  /** Answers a request that Node has read; a GET is recognised when its bytes come again. */
  answer(endpoint: Endpoint, arrival: Arrival, response: ServerResponse): void {
    const { headers, params, query } = arrival
    this.repeated.understood(response, { endpoint, headers, params, query })
    const { incoming, to } = this.#arrived(arrival, response)
    this.#respond(endpoint, incoming, to)
  }

  #answerAgain({ endpoint, headers, params, query }: KnownRequest, to: Reply): void {
    const arrival = { id: this.#deps.newRequestId(), method: 'GET', headers, params, query }
    this.#respond(endpoint, readIncoming(arrival, to, this.stopping.signal), to)
  }

  #arrived(arrival: Arrival, response: ServerResponse) {
    this.#connections.of(response.req.socket).answering(response)
    const to = new NodeReply(this.#connections, response)
    return { incoming: readIncoming(arrival, to, this.stopping.signal), to }
  }

  #respond(endpoint: Endpoint, incoming: Incoming, to: Reply): void {
    let outgoing: Promise<Outgoing> | Outgoing
    try {
      outgoing = endpoint.respond(incoming)
    } catch (error) {
      outgoing = Promise.reject(error)
    }
    this.#finish(incoming, to, endpoint.path, outgoing)
  }

  /** Sends what comes; a failure to answer is itself answered. */
  #finish(
    incoming: Incoming,
    to: Reply,
    path: string | undefined,
    outgoing: Promise<Outgoing> | Outgoing,
  ): void {
    const started = performance.now()
    const write = (done: Outgoing) => {
      const close = this.stopping.signal.aborted || to.isLast()
      to.send(done, { requestId: incoming.requestId, close })
      this.#deps.observe?.(path, done.status, performance.now() - started)
    }
    const fail = (error: unknown) => {
      this.#deps.report(error, incoming.requestId)
      const refusal = refuse('internal_error', 'the server failed; the request id names the case')
      this.#deps
        .deny(incoming, refusal, [])
        .then(write)
        .catch(() => to.destroy())
    }
    const writeOrFail = (done: Outgoing) => {
      try {
        write(done)
      } catch (error) {
        fail(error)
      }
    }
    if (outgoing instanceof Promise) void outgoing.then(writeOrFail, fail)
    else writeOrFail(outgoing)
  }

  /** False for a request that is not looked at, or that is refused for naming no host. */
  #begins(request: FastifyRequest, reply: FastifyReply): boolean {
    if (!this.#connections.of(request.raw.socket).begin(reply.raw)) {
      reply.hijack()
      return false
    }
    if (namesHost(request.raw)) return true
    this.#denyLast(request, reply, refuse('invalid_parameter', 'the Host header is missing'))
    return false
  }

  /** Ends the connection too: an unread body would be taken for the next request. */
  #denyLast(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): void {
    this.#connections.of(request.raw.socket).end()
    this.#deny(request, reply, refusal)
  }

  #deny(
    request: FastifyRequest,
    reply: FastifyReply,
    refusal: Refusal,
    headers: readonly string[] = [],
  ): void {
    const { incoming, to } = this.#arrived(request, reply.hijack().raw)
    this.#finish(incoming, to, undefined, this.#deps.deny(incoming, refusal, headers))
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
