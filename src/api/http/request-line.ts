import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** All connections share it, since a waiting request costs some kilobytes. */
export interface SharedLine {
  waiting: number
}

/** Whether a connection with `own` waiting requests may have no more. */
export function isFull(line: SharedLine, own: number): boolean {
  return own >= PER_CONNECTION_MAX || line.waiting >= WAITING_MAX
}

/** No client needs more ahead of its answers; a connection with more ends after what it has. */
const PER_CONNECTION_MAX = 128

/** They take at most 40 MB with the longest headers. */
const WAITING_MAX = 2_000

interface Waiting {
  readonly response: ServerResponse
  readonly resolve: (isConnected: boolean) => void
}

/**
 * Pipelined requests of one connection, one at a time: the next begins when the answer before it has left
 * for the network, so that nobody is charged for answers that pile up unread.
 */
export class RequestLine {
  readonly #socket: Duplex
  readonly #line: SharedLine
  #current: ServerResponse
  #waiting: Waiting[] = []

  /** `current` is the answer that is not sent yet. */
  constructor(socket: Duplex, line: SharedLine, current: ServerResponse) {
    this.#socket = socket
    this.#line = line
    this.#current = current
    socket.once('close', () => this.#leave())
  }

  get isFull(): boolean {
    return isFull(this.#line, this.#waiting.length)
  }

  /** Undefined if it is next; resolves to whether the connection still stands. */
  take(response: ServerResponse): Promise<boolean> | undefined {
    const before = this.#current
    if (this.#waiting.length === 0 && isSent(before)) {
      this.#current = response
      return undefined
    }
    this.#line.waiting += 1
    return new Promise((resolve) => {
      this.#waiting.push({ response, resolve })
      if (this.#waiting.length === 1) this.#follow(before)
    })
  }

  #follow(before: ServerResponse): void {
    before.once('finish', () => this.#advance(before))
  }

  #advance(before: ServerResponse): void {
    if (this.#current !== before) return
    const next = this.#waiting.shift()
    if (next === undefined) return
    this.#line.waiting -= 1
    this.#current = next.response
    if (this.#waiting.length > 0) this.#follow(next.response)
    next.resolve(!this.#socket.destroyed)
  }

  #leave(): void {
    const left = this.#waiting
    this.#waiting = []
    this.#line.waiting -= left.length
    for (const each of left) each.resolve(false)
  }
}

function isSent(response: ServerResponse): boolean {
  return response.writableFinished || response.destroyed
}
