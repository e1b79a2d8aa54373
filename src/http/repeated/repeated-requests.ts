import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Connections } from '../connections.ts'
import type { HeadWriter } from '../head-writer.ts'
import type { Reply } from '../reply.ts'
import { type KnownRequest, KnownRequests } from './known-requests.ts'
import { RepeatedReply } from './repeated-reply.ts'
import { SocketReader } from './socket-reader.ts'

export interface RepeatedRequestsDeps {
  readonly connections: Connections
  readonly heads: HeadWriter
  answer(request: KnownRequest, reply: Reply): void
}

/**
 * Requests that come again, past Node's parser and the router. A program that polls sends the same
 * bytes each time, and to read them again takes as long as all the rest of a call.
 */
export class RepeatedRequests {
  readonly #deps: RepeatedRequestsDeps
  readonly #known = new KnownRequests()
  readonly #readers = new WeakMap<Duplex, SocketReader>()

  constructor(deps: RepeatedRequestsDeps) {
    this.#deps = deps
  }

  /** Reads the sockets of a server from now on. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#attach(socket))
    // Node takes its parser away from such a socket.
    server.on('connect', (_request, socket: Duplex) => socket.removeAllListeners('data'))
  }

  /** Tells of a request that Node has read. */
  arrived(response: ServerResponse): void {
    this.#readers.get(response.req.socket)?.arrived(response)
  }

  /** Tells what it means, before its bytes are done with. */
  understood(response: ServerResponse, meaning: KnownRequest): void {
    this.#readers.get(response.req.socket)?.understood(response, meaning)
  }

  #attach(socket: Socket): void {
    const [toNode, ...others] = socket.listeners('data')
    if (toNode === undefined || others.length > 0 || socket.destroyed) return
    const connection = this.#deps.connections.of(socket)
    const line = { socket, heads: this.#deps.heads, answered: () => reader.answered() }
    const reader = new SocketReader({
      ...{ socket, connection, known: this.#known },
      toNode: (chunk) => Reflect.apply(toNode, socket, [chunk]),
      answer: (request) => this.#deps.answer(request, new RepeatedReply(line)),
    })
    this.#readers.set(socket, reader)
    socket.removeAllListeners('data')
    socket.on('data', (chunk: Buffer) => reader.read(chunk))
  }
}
