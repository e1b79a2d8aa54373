import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** One open socket, and how far its requests are. */
export class Connection {
  /** State at the last sweep, and for how long it has stayed the same. */
  swept = { bytesRead: 0, isIdle: false, sameMs: 0 }
  readonly #requestsMax: number
  #requests = 0
  /** No later request is looked at: the next answer ends the connection (RFC 9112, 9.6). */
  #isEnding = false
  /** What came last cannot be read. */
  #isBroken = false
  /** Of the newest request, whose body may still be arriving. */
  #newest: ServerResponse | undefined
  /** Of the newest request that arrived complete. */
  #answering: ServerResponse | undefined

  readonly #socket: Duplex
  #gone: AbortSignal | undefined

  constructor(socket: Duplex, { requestsMax }: { readonly requestsMax: number }) {
    this.#socket = socket
    this.#requestsMax = requestsMax
  }

  /**
   * Aborts when the client leaves or closes its side. In the latter case it may still read, so
   * answers are written all the same. Made on first use: most handlers finish long before.
   */
  get gone(): AbortSignal {
    this.#gone ??= goneSignal(this.#socket)
    return this.#gone
  }

  /** Whether something was asked and all of it is answered. */
  get isIdle(): boolean {
    return this.#newest?.writableFinished === true
  }

  /** Whether a complete request is not answered yet. */
  get isAnswering(): boolean {
    const answering = this.#answering
    return answering !== undefined && !isOver(answering)
  }

  /** Counts a request; false when an earlier one ended the connection. */
  begin(response: ServerResponse): boolean {
    if (this.#isEnding) return false
    this.#newest = response
    this.#requests += 1
    if (this.#requests >= this.#requestsMax) this.#isEnding = true
    return true
  }

  /** Notes that the request arrived complete and will be answered. */
  answering(response: ServerResponse): void {
    this.#answering = response
  }

  /** Lets no later request be looked at. */
  end(): void {
    this.#isEnding = true
  }

  /**
   * Whether this answer must say that the connection ends. A server that stops ends it with the
   * newest answer: those before it were charged too.
   */
  isLast(response: ServerResponse, isStopping: boolean): boolean {
    if (this.#newest !== response) return false
    this.#isEnding ||= isStopping
    return this.#isEnding
  }

  /**
   * Ends the connection after the answers in progress: a charged one must not be lost to bytes that
   * came after it. `refuse` runs unless the last of them ends it already.
   */
  breakOff(refuse: () => void): void {
    const newest = this.#newest
    if (this.#isBroken || (this.#isEnding && this.#answering === newest)) return
    this.#isBroken = true
    this.#isEnding = true
    const answering = newest?.req.complete === true ? newest : this.#answering
    if (answering === undefined || isOver(answering)) refuse()
    else
      answering.once('close', () => {
        if (this.#socket.writable) refuse()
      })
  }
}

function isOver(response: ServerResponse): boolean {
  return response.writableFinished || response.destroyed
}

function goneSignal(socket: Duplex): AbortSignal {
  const controller = new AbortController()
  const abort = () => controller.abort()
  if (socket.destroyed || socket.readableEnded) abort()
  socket.once('end', abort).once('close', abort)
  return controller.signal
}
