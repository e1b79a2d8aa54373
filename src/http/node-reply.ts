import type { ServerResponse } from 'node:http'
import type { Connections } from './connections.ts'
import type { Outgoing } from './exchange.ts'
import { hasBody, type Stamp, stampedHeaders } from './head-writer.ts'
import type { Reply } from './reply.ts'

/** Answers a request that Node's parser read. */
export class NodeReply implements Reply {
  readonly #connections: Connections
  readonly #response: ServerResponse

  constructor(connections: Connections, response: ServerResponse) {
    this.#connections = connections
    this.#response = response
  }

  get socketAddress(): string {
    return this.#response.req.socket.remoteAddress ?? ''
  }

  isLast(): boolean {
    return this.#connections.of(this.#response.req.socket).isLast(this.#response)
  }

  goneSignal(): AbortSignal {
    const controller = new AbortController()
    if (this.#response.destroyed) controller.abort()
    else this.#response.once('close', () => controller.abort())
    return controller.signal
  }

  /** Node drops the body of a HEAD. */
  send(outgoing: Outgoing, stamp: Stamp): void {
    const response = this.#response
    if (response.headersSent || response.destroyed) return
    const stays = !stamp.close && response.shouldKeepAlive
    response.writeHead(outgoing.status, stampedHeaders(outgoing, stamp, stays))
    response.end(hasBody(outgoing) ? outgoing.body : undefined)
  }

  destroy(): void {
    this.#response.destroy()
  }
}
