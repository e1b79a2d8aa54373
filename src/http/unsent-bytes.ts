import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface UnsentLimits {
  readonly perClient: number
  readonly total: number
  /** Of a stream: until a client that does not read is cut off; its last event id is its cursor. */
  readonly unreadMs: number
}

/**
 * Some thirty of the longest series (half a megabyte) per client; the total is what the process can
 * spare.
 */
export const UNSENT_LIMITS: UnsentLimits = {
  perClient: 16_000_000,
  total: 64_000_000,
  unreadMs: 30_000,
}

const ANSWER_BYTES = 4_096

interface Held {
  readonly socket: Socket
  readonly client: string
  readonly bytes: number
}

export class UnsentBytes {
  readonly #limits: UnsentLimits
  readonly #held = new Map<Socket, Set<Held>>()
  readonly #byClient = new Map<string, number>()
  #total = 0

  constructor(limits: UnsentLimits) {
    this.#limits = limits
  }

  get unreadMs(): number {
    return this.#limits.unreadMs
  }

  /** Shared bodies cost a client nothing. */
  hold(response: ServerResponse, body: string | Uint8Array, client: string): void {
    const { socket } = response.req
    if (socket.destroyed) return
    const own = typeof body === 'string' ? Buffer.byteLength(body) : 0
    const held = { socket, client, bytes: ANSWER_BYTES + own }
    this.#ofSocket(socket).add(held)
    this.#add(client, held.bytes)
    response.once('close', () => this.#release(held))
    const ofClient = this.#byClient.get(client) ?? 0
    if (ofClient > this.#limits.perClient || this.#total > this.#limits.total) this.#closeLargest()
  }

  /** Kept until the socket closes: a queued answer emits no close of its own. */
  #ofSocket(socket: Socket): Set<Held> {
    const known = this.#held.get(socket)
    if (known !== undefined) return known
    const answers = new Set<Held>()
    this.#held.set(socket, answers)
    socket.once('close', () => {
      for (const held of answers) this.#release(held)
      this.#held.delete(socket)
    })
    return answers
  }

  #release(held: Held): void {
    if (this.#held.get(held.socket)?.delete(held) === true) this.#add(held.client, -held.bytes)
  }

  #add(client: string, bytes: number): void {
    const sum = (this.#byClient.get(client) ?? 0) + bytes
    if (sum > 0) this.#byClient.set(client, sum)
    else this.#byClient.delete(client)
    this.#total += bytes
  }

  #closeLargest(): void {
    for (let over = this.#overLimit(); over !== undefined; over = this.#overLimit()) {
      const socket = this.#largestSocketOf(over)
      if (socket === undefined) return
      for (const held of this.#held.get(socket) ?? []) this.#release(held)
      socket.destroy()
    }
  }

  #overLimit(): string | undefined {
    const [most] = [...this.#byClient].sort(([, one], [, other]) => other - one)
    if (most === undefined) return undefined
    const [client, bytes] = most
    return bytes > this.#limits.perClient || this.#total > this.#limits.total ? client : undefined
  }

  #largestSocketOf(client: string): Socket | undefined {
    let largest: { readonly socket: Socket; readonly bytes: number } | undefined
    for (const [socket, answers] of this.#held) {
      let bytes = 0
      for (const held of answers) if (held.client === client) bytes += held.bytes
      if (bytes > (largest?.bytes ?? 0)) largest = { socket, bytes }
    }
    return largest?.socket
  }
}
