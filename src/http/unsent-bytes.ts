import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface UnsentLimits {
  /** What the process can spare for answers that clients do not read. */
  readonly total: number
  /** Of a stream: until a client that does not read is cut off; its last event id is its cursor. */
  readonly unreadMs: number
}

export const UNSENT_LIMITS: UnsentLimits = { total: 64_000_000, unreadMs: 30_000 }

const ANSWER_BYTES = 4_096

/** One answer per connection at most, since its next request waits until that has left. */
export class UnsentBytes {
  readonly #limits: UnsentLimits
  /** In order: who has not read for longest comes first. */
  readonly #held = new Map<Socket, number>()
  #total = 0

  constructor(limits: UnsentLimits) {
    this.#limits = limits
  }

  get unreadMs(): number {
    return this.#limits.unreadMs
  }

  /** Shared bodies cost nothing. */
  hold(response: ServerResponse, body: string | Uint8Array): void {
    const { socket } = response.req
    if (socket.destroyed) return
    const bytes = ANSWER_BYTES + (typeof body === 'string' ? Buffer.byteLength(body) : 0)
    this.#held.set(socket, bytes)
    this.#total += bytes
    response.once('close', () => this.#release(socket))
    for (const oldest of this.#held.keys()) {
      if (this.#total <= this.#limits.total) break
      this.#release(oldest)
      oldest.destroy()
    }
  }

  #release(socket: Socket): void {
    this.#total -= this.#held.get(socket) ?? 0
    this.#held.delete(socket)
  }
}
