import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Refusal, refuse } from '#domain/refusal.ts'
import type { Connections } from './connections.ts'
import type { Incoming, Outgoing } from './exchange.ts'
import type { HeadWriter } from './head-writer.ts'
import { parseQuery } from './parse-query.ts'

interface SocketDeps {
  deny(incoming: Incoming, refusal: Refusal, headers: readonly string[]): Promise<Outgoing>
  newRequestId(): string
  readonly connections: Pick<Connections, 'of'>
  readonly heads: HeadWriter
}

/** Whoever does not close his end is waited for no longer. */
const LINGER_MS = 2_000

/** Methods of this API, for those that Node's parser does not even know. */
const ALLOW = 'GET, HEAD, OPTIONS, POST'

/**
 * Answers what never becomes a request: bytes that are no HTTP, headers that are too long or too
 * late, CONNECT. The connection ends, because nobody knows where a next request would begin.
 */
export function answerBrokenSockets(server: Server, deps: SocketDeps): void {
  const breakOff = (socket: Duplex, rejection: Rejection) =>
    deps.connections.of(socket).breakOff(socket, () => void reject(deps, socket, rejection))
  server.removeAllListeners('clientError')
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    breakOff(socket, judge(error.code)),
  )
  server.on('connect', (_request: IncomingMessage, socket: Duplex) =>
    breakOff(socket, wrongMethod()),
  )
  // An unknown expectation may be ignored (RFC 9110, 10.1.1); Node's own 417 would lack our headers.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
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
      : 'this is no well-formed HTTP/1.1 request'
  return { refusal: refuse('invalid_parameter', message), headers: [] }
}

function wrongMethod(): Rejection {
  return {
    refusal: refuse('method_not_allowed', `this server answers ${ALLOW}`),
    headers: ['Allow', ALLOW],
  }
}

async function reject(deps: SocketDeps, socket: Duplex, rejection: Rejection): Promise<void> {
  // A client that went away or broke the connection cannot read an answer.
  if (!socket.writable || socket.destroyed) return void socket.destroy()
  socket.on('error', () => socket.destroy())
  const incoming = nobody(deps.newRequestId(), socket)
  const outgoing = await deps.deny(incoming, rejection.refusal, rejection.headers)
  const head = deps.heads.write(outgoing, { requestId: incoming.requestId, close: true })
  socket.end(`${head}${outgoing.body}`)
  // What still comes is read and dropped, so that no reset overtakes the answer (RFC 9112, 9.6).
  socket.resume()
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

function nobody(requestId: string, socket: Duplex): Incoming {
  const address = 'remoteAddress' in socket ? socket.remoteAddress : undefined
  return {
    requestId,
    method: '',
    headers: {},
    socketAddress: typeof address === 'string' ? address : '',
    path: {},
    query: parseQuery(''),
    body: undefined,
    signal: AbortSignal.abort(),
  }
}
