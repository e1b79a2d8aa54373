import type { Socket } from 'node:net'
import type { Outgoing } from '../exchange.ts'
import { type HeadWriter, hasBody, type Stamp } from '../head-writer.ts'
import type { Reply } from '../reply.ts'

export interface RepeatedReplyDeps {
  readonly socket: Socket
  readonly heads: HeadWriter
  /** The answer is written, or nobody waits for it any more. */
  answered(): void
}

/** Answers a request that came before, straight to its socket. */
export class RepeatedReply implements Reply {
  readonly #deps: RepeatedReplyDeps
  #isOpen = true
  #stopWatching: (() => void) | undefined

  constructor(deps: RepeatedReplyDeps) {
    this.#deps = deps
  }

  get socketAddress(): string {
    return this.#deps.socket.remoteAddress ?? ''
  }

  /** The last request of a connection is one that Node reads. */
  isLast(): boolean {
    return false
  }

  goneSignal(): AbortSignal {
    const controller = new AbortController()
    const { socket } = this.#deps
    const abort = () => controller.abort()
    if (socket.destroyed) abort()
    else socket.once('close', abort)
    this.#stopWatching = () => socket.off('close', abort)
    return controller.signal
  }

  send(outgoing: Outgoing, stamp: Stamp): void {
    if (!this.#isOpen) return
    const { heads, socket } = this.#deps
    const head = heads.write(outgoing, stamp)
    if (socket.writable) write(socket, head, hasBody(outgoing) ? outgoing.body : undefined)
    if (stamp.close) socket.destroySoon()
    this.#end()
  }

  destroy(): void {
    if (!this.#isOpen) return
    this.#deps.socket.destroy()
    this.#end()
  }

  #end(): void {
    this.#isOpen = false
    this.#stopWatching?.()
    this.#deps.answered()
  }
}

function write(socket: Socket, head: string, body: string | Uint8Array | undefined): void {
  if (typeof body === 'string') return void socket.write(head + body)
  socket.cork()
  socket.write(head, 'latin1')
  if (body !== undefined) socket.write(body)
  socket.uncork()
}
