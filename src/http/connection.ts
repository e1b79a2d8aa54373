import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** One open socket, and how far its requests are. */
export class Connection {
  /** Whether a request that came before is being answered, past Node's parser. */
  isRepeating = false
  /** How it was when it was last looked at, and for how long. */
  swept = { bytesRead: 0, isIdle: false, sameMs: 0 }
  readonly #requestsMax: number
  #requests = 0
  /** No request after this one is looked at: its answer ends the connection (RFC 9112, 9.6). */
  #isEnding = false
  /** Of the newest request that Node read, whose body may still be on its way. */
  #newest: ServerResponse | undefined
  /** Of the newest of them that came whole. */
  #answering: ServerResponse | undefined

  constructor({ requestsMax }: { readonly requestsMax: number }) {
    this.#requestsMax = requestsMax
  }

  /** Whether something came and all of it is answered. */
  get isIdle(): boolean {
    return !this.isRepeating && this.#newest?.writableFinished === true
  }

  /** Whether a request that came whole is not answered yet. */
  get isAnswering(): boolean {
    const answering = this.#answering
    return this.isRepeating || (answering !== undefined && !isOver(answering))
  }

  /** Counts a request; false when an earlier one ended the connection. */
  begin(response: ServerResponse): boolean {
    if (this.#isEnding) return false
    this.#newest = response
    this.#requests += 1
    if (this.#requests >= this.#requestsMax) this.#isEnding = true
    return true
  }

  /** Counts a request that came before; false where Node shall read it, because others wait or it is the last. */
  beginRepeated(): boolean {
    if (this.#isEnding || !this.isIdle || this.#requests + 1 >= this.#requestsMax) return false
    this.#requests += 1
    this.isRepeating = true
    return true
  }

  /** Notes that the request came whole and will be answered. */
  answering(response: ServerResponse): void {
    this.#answering = response
  }

  /** Lets no later request be looked at. */
  end(): void {
    this.#isEnding = true
  }

  /** Whether this answer must say that the connection ends. */
  isLast(response: ServerResponse): boolean {
    return this.#isEnding && this.#newest === response
  }

  /**
   * Ends the connection after the answers that are on their way: a charged one must not be lost to
   * bytes that came after it. `refuse` runs where the last of them did not end it already.
   */
  breakOff(socket: Duplex, refuse: () => void): void {
    if (this.#isEnding) return
    this.#isEnding = true
    const answering = this.#answering
    if (answering === undefined || isOver(answering)) refuse()
    else
      answering.once('close', () => {
        if (socket.writable) refuse()
      })
  }
}

function isOver(response: ServerResponse): boolean {
  return response.writableFinished || response.destroyed
}
