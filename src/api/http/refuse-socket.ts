import type { IncomingMessage, Server } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Refusal, refuse } from '#domain/refusal.ts'
import type { HttpAdapterDeps } from './adapter.ts'
import type { Connections } from './connections.ts'
import type { Incoming } from './exchange.ts'
import { NO_QUERY } from './request.ts'
import { sentBytes, stampedHeaders } from './send-answer.ts'

export interface SocketRefuserDeps
  extends Pick<HttpAdapterDeps, 'deny' | 'newRequestId' | 'constantHeaders' | 'record'> {
  readonly connections: Pick<Connections, 'of'>
}

const LINGER_MS = 2_000

const ALLOW = 'GET, HEAD, OPTIONS, POST'

/**
 * Answers malformed HTTP, long or late headers and CONNECT. Closes, because the next request's
 * start is unknown.
 */
export class SocketRefuser {
  readonly #deps: SocketRefuserDeps

  constructor(deps: SocketRefuserDeps) {
    this.#deps = deps
  }

  watch(server: Server): void {
    server.on('connect', (_request: IncomingMessage, socket: Duplex) =>
      this.#breakOff(socket, wrongMethod()),
    )
    // Unknown expectations may be ignored (RFC 9110, 10.1.1); Node's own 417 lacks our headers.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  }

  refuseBroken(error: NodeJS.ErrnoException, socket: Duplex): void {
    this.#breakOff(socket, judge(error.code))
  }

  #breakOff(socket: Duplex, rejection: Rejection): void {
    const refuseNow = () => void this.#refuse(socket, rejection).catch(() => void socket.destroy())
    this.#deps.connections.of(socket).breakOff(refuseNow)
  }

  async #refuse(socket: Duplex, { refusal, headers }: Rejection): Promise<void> {
    if (!socket.writable || socket.destroyed) return void socket.destroy()
    socket.on('error', () => socket.destroy())
    const { constantHeaders: constant, deny, newRequestId, record } = this.#deps
    const incoming = nobody(newRequestId(), socket)
    const outgoing = await deny(incoming, refusal, headers)
    const { requestId } = incoming
    const pairs = stampedHeaders(outgoing, { requestId, constant, close: true })
    pairs.push('Content-Length', String(Buffer.byteLength(outgoing.body)))
    let head = `HTTP/1.1 ${outgoing.status} ${STATUS_CODES[outgoing.status]}\r\n`
    for (let index = 0; index < pairs.length; index += 2)
      head += `${pairs[index]}: ${pairs[index + 1]}\r\n`
    socket.end(`${head}\r\n${outgoing.body}`)
    const { status } = outgoing
    const bytes = sentBytes(incoming, outgoing)
    record?.({ incoming, route: undefined, status, bytes, durationMs: 0 })
    // Drain, so that a reset does not overtake the answer (RFC 9112, 9.6).
    socket.resume()
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
}

interface Rejection {
  readonly refusal: Refusal
  readonly headers: readonly string[]
}

function judge(code: string | undefined): Rejection {
  if (code === 'HPE_INVALID_METHOD') return wrongMethod()
  if (code === 'HPE_HEADER_OVERFLOW')
    return {
      refusal: refuse('payload_too_large', 'the request line and headers are too long'),
      headers: [],
    }
  const message =
    code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? 'the request came too slowly'
      : 'not a well-formed HTTP/1.1 request'
  return { refusal: refuse('invalid_parameter', message), headers: [] }
}

function wrongMethod(): Rejection {
  return {
    refusal: refuse('method_not_allowed', `this server supports only ${ALLOW}`),
    headers: ['Allow', ALLOW],
  }
}

function nobody(requestId: string, socket: Duplex): Incoming {
  const address = 'remoteAddress' in socket ? socket.remoteAddress : undefined
  return {
    requestId,
    method: '',
    headers: {},
    socketAddress: typeof address === 'string' ? address : '',
    path: {},
    query: NO_QUERY,
    body: undefined,
    signal: AbortSignal.abort(),
    isCut: () => false,
  }
}
