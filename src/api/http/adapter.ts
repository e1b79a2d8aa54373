import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { type Refusal, refuse } from '#domain/refusal.ts'
import type { Connections } from './connections.ts'
import type { Answered, HttpEndpoint, Incoming, Outgoing } from './exchange.ts'
import { indexPaths, type PathIndex } from './path-index.ts'
import {
  checkFraming,
  checkHost,
  hasBody,
  isCanonical,
  pathOf,
  ServerIncoming,
  tooLarge,
} from './request.ts'
import { sendAnswer, sendStream, sentBytes } from './send-answer.ts'

export interface HttpAdapterDeps {
  readonly endpoints: readonly HttpEndpoint[]
  /** Names and values in turn. */
  readonly constantHeaders: readonly string[]
  /** Returns the wire form of refusals without an endpoint. */
  deny(incoming: Incoming, refusal: Refusal, headers: readonly string[]): Promise<Outgoing>
  preflight(incoming: Incoming, allow: string): Promise<Outgoing>
  newRequestId(): string
  /** The caller sees only the request id. */
  report(error: unknown, requestId: string): void
  /** Undefined `path`: no endpoint answered. */
  observe?(path: string | undefined, status: number, durationMs: number): void
  /** Every answer, also to malformed requests. */
  record?(answered: Answered): void
  readonly streamUnreadMs?: number
}

/** A stream's client that does not read for this long is cut off; its last event id is its cursor. */
const STREAM_UNREAD_MS = 30_000

/** Exceeds our own limits, so that our parsers explain wrong lengths. */
export const PATH_PARAMETER_MAX = 512

export class HttpAdapter {
  readonly stopping = new AbortController()
  readonly #deps: HttpAdapterDeps
  readonly #paths: PathIndex
  readonly #connections: Connections
  #isDraining = false

  constructor(deps: HttpAdapterDeps, connections: Connections) {
    this.#deps = deps
    this.#paths = indexPaths(deps.endpoints)
    this.#connections = connections
  }

  drain(): void {
    this.#isDraining = true
  }

  /** Checks path and method, size and type before reading the body. */
  async enter(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    if (!this.#begins(request, reply)) return reply.hijack()
    const waiting = this.#connections.of(request.raw.socket).take(reply.raw)
    if (waiting !== undefined && !(await waiting)) return reply.hijack()
    const refusal = checkHost(request.raw)
    if (refusal !== undefined) return this.#denyLast(request, reply, refusal)
    if (request.is404 || !isCanonical(pathOf(request.raw.url ?? '')))
      return this.#unmatched(request, reply)
    const unfit = checkFraming(request.raw)
    if (unfit !== undefined) return this.#denyLast(request, reply, unfit)
    // Some clients send a type without a body, which Fastify refuses.
    if (!hasBody(request.raw)) delete request.raw.headers['content-type']
    return undefined
  }

  /** Answers an unreadable path, for which no hook ran. Never rejects. */
  async misread(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (!this.#begins(request, reply)) return reply.hijack()
    try {
      const waiting = this.#connections.of(request.raw.socket).take(reply.raw)
      if (waiting !== undefined && !(await waiting)) return reply.hijack()
      const refusal = checkHost(request.raw)
      if (refusal !== undefined) return await this.#denyLast(request, reply, refusal)
      return await this.#unmatched(request, reply)
    } catch (error) {
      return this.failed(error, request, reply)
    }
  }

  async #unmatched(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const path = pathOf(request.raw.url ?? '')
    const allow = isCanonical(path) ? this.#paths.allow(path) : undefined
    if (allow === undefined)
      return this.#deny(
        request,
        reply,
        refuse('not_found', 'there is nothing at this path; the documentation is at /scalar/v1'),
      )
    if (request.method === 'OPTIONS') {
      const incoming = this.#arrived(request, reply)
      return this.#send(reply, incoming, await this.#deps.preflight(incoming, allow))
    }
    if (allow.split(', ').includes(request.method)) {
      const message = `a parameter in the path may have at most ${PATH_PARAMETER_MAX} characters`
      return this.#deny(request, reply, refuse('invalid_parameter', message))
    }
    const refusal = refuse('method_not_allowed', `this path supports only ${allow}`)
    return this.#deny(request, reply, refusal, ['Allow', allow])
  }

  async answer(
    endpoint: HttpEndpoint,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const incoming = this.#arrived(request, reply)
    return this.#send(reply, incoming, await endpoint.respond(incoming), endpoint.path)
  }

  /** Never rejects. */
  async failed(
    error: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    try {
      const refusal = bodyRefusal(error)
      if (refusal !== undefined) return await this.#denyLast(request, reply, refusal)
      this.#deps.report(error, request.id)
      for (const name of reply.raw.getHeaderNames()) reply.raw.removeHeader(name)
      const failure = 'internal error; quote the X-Request-Id to support'
      return await this.#deny(request, reply, refuse('internal_error', failure))
    } catch (cause) {
      this.#deps.report(cause, request.id)
      reply.hijack().raw.destroy()
      return reply
    }
  }

  #begins({ raw }: FastifyRequest, reply: FastifyReply): boolean {
    const connection = this.#connections.of(raw.socket)
    if (!connection.begin(reply.raw)) return false
    // Node drops bytes behind an upgrade, so the next read may start mid-request.
    if (raw.headers.upgrade !== undefined) connection.end()
    // At once, because bytes that follow the request may break the connection.
    if (!hasBody(raw)) connection.answering(reply.raw)
    return true
  }

  /** An unread body would be parsed as the next request. */
  #denyLast(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): Promise<FastifyReply> {
    this.#connections.of(request.raw.socket).end()
    return this.#deny(request, reply, refusal)
  }

  async #deny(
    request: FastifyRequest,
    reply: FastifyReply,
    refusal: Refusal,
    headers: readonly string[] = [],
  ): Promise<FastifyReply> {
    const incoming = this.#arrived(request, reply)
    return this.#send(reply, incoming, await this.#deps.deny(incoming, refusal, headers))
  }

  #arrived(request: FastifyRequest, reply: FastifyReply): ServerIncoming {
    const connection = this.#connections.of(request.raw.socket)
    connection.answering(reply.raw)
    return new ServerIncoming(request, connection, this.stopping.signal)
  }

  #send(
    reply: FastifyReply,
    incoming: ServerIncoming,
    outgoing: Outgoing,
    path?: string,
  ): FastifyReply {
    const { constantHeaders: constant, observe, record, report } = this.#deps
    const { requestId, startedMs } = incoming
    const isStopping = this.#isDraining || this.stopping.signal.aborted
    const close = this.#connections.of(reply.raw.req.socket).isLast(reply.raw, isStopping)
    // Fastify would close after an earlier answer and lose the rest.
    if (isStopping && !close) outgoing.headers.push('Connection', 'keep-alive')
    const { stream } = outgoing
    if (stream !== undefined) this.#stream(reply, incoming, { ...outgoing, stream })
    else sendAnswer(reply, outgoing, { requestId, constant, close })
    try {
      const durationMs = performance.now() - startedMs
      observe?.(path, outgoing.status, durationMs)
      record?.({
        incoming,
        route: path,
        status: outgoing.status,
        bytes: sentBytes(incoming, outgoing),
        durationMs,
      })
    } catch (error) {
      report(error, requestId)
    }
    return reply
  }

  #stream(
    reply: FastifyReply,
    { requestId, signal }: ServerIncoming,
    outgoing: Parameters<typeof sendStream>[1],
  ): void {
    const { constantHeaders: constant, report } = this.#deps
    this.#connections.of(reply.raw.req.socket).stream()
    const unreadMs = this.#deps.streamUnreadMs ?? STREAM_UNREAD_MS
    sendStream(reply, outgoing, { requestId, constant, close: true, signal, unreadMs }).catch(
      (error: unknown) => {
        report(error, requestId)
        reply.raw.destroy()
      },
    )
  }
}

function bodyRefusal(error: unknown): Refusal | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, statusCode }: Partial<FastifyError> = error
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge()
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return refuse('unsupported_media_type', 'send the body as application/json in UTF-8')
  if (statusCode === 400)
    return refuse('invalid_body', 'the length of the body differs from Content-Length')
  return undefined
}
