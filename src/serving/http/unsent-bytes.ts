import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface UnsentLimits {
  /** What the process can spare for answers that clients do not read. */
  readonly total: number
  /** A stream's client that does not read for this long is cut off; its last event id is its cursor. */
  readonly unreadMs: number
}

export const UNSENT_LIMITS: UnsentLimits = { total: 64_000_000, unreadMs: 30_000 }

const ANSWER_BYTES = 4_096

interface Unread {
  readonly bytes: number
  /** A socket of a trusted proxy is its own, since it carries many clients. */
  readonly owner: string | Socket
}

/** One answer per connection at most, since its next request waits until that has left. */
export class UnsentBytes {
  readonly #limits: UnsentLimits
  readonly #ownerOf: (socketAddress: string) => string | undefined
  /** The answer that has waited longest comes first. */
  readonly #held = new Map<Socket, Unread>()
  readonly #byOwner = new Map<string | Socket, number>()
  #total = 0

  constructor(limits: UnsentLimits, ownerOf: (socketAddress: string) => string | undefined) {
    this.#limits = limits
    this.#ownerOf = ownerOf
  }

  get unreadMs(): number {
    return this.#limits.unreadMs
  }

  /** Shared bodies cost nothing. */
  hold(response: ServerResponse, body: string | Uint8Array): void {
    const { socket } = response.req
    if (socket.destroyed) return
    const bytes = ANSWER_BYTES + (typeof body === 'string' ? Buffer.byteLength(body) : 0)
    const owner = this.#ownerOf(socket.remoteAddress ?? '') ?? socket
    this.#held.set(socket, { bytes, owner })
    this.#add(owner, bytes)
    response.once('close', () => this.#release(socket))
    while (this.#total > this.#limits.total) this.#cutOff()
  }

  /** The oldest answer of the owner who holds most, so that nobody cuts off others. */
  #cutOff(): void {
    const [most] = [...this.#byOwner].reduce((one, other) => (other[1] > one[1] ? other : one))
    for (const [socket, { owner }] of this.#held) {
      if (owner !== most) continue
      this.#release(socket)
      socket.destroy()
      return
    }
  }

  #release(socket: Socket): void {
    const unread = this.#held.get(socket)
    if (unread === undefined) return
    this.#held.delete(socket)
    this.#add(unread.owner, -unread.bytes)
  }

  #add(owner: string | Socket, bytes: number): void {
    this.#total += bytes
    const held = (this.#byOwner.get(owner) ?? 0) + bytes
    if (held > 0) this.#byOwner.set(owner, held)
    else this.#byOwner.delete(owner)
  }
}
