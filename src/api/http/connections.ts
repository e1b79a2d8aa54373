import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { isFull, RequestLine, type SharedLine } from './request-line.ts'

/** Longer than clients pause, short enough to free idle sockets. */
const IDLE_SECONDS = 10

/** Keeps clients from sending just as the socket closes. */
export const KEEP_ALIVE_HEADER: readonly string[] = ['Keep-Alive', `timeout=${IDLE_SECONDS}`]

export interface ConnectionLimits {
  readonly total: number
  /** Number of sockets above which `perAddress` applies. */
  readonly crowded: number
  readonly perAddress: number
  /** Limit for a socket that never sent a byte. */
  readonly silentMs: number
  readonly requestsPerSocket: number
  /** Limit with all answers delivered; enforced at most four seconds late. */
  readonly idleMs: number
  /** Limit without progress while an answer is due or unread. */
  readonly stillMs: number
}

/**
 * 10,000 sockets at about 10 KB fit in the process; above half, an address gets 500. Long polls
 * take 30 s. The request limit spreads clients to new replicas.
 */
export const CONNECTION_LIMITS: ConnectionLimits = {
  total: 10_000,
  crowded: 5_000,
  perAddress: 500,
  silentMs: 4_000,
  requestsPerSocket: 100_000,
  idleMs: IDLE_SECONDS * 1_000,
  stillMs: 60_000,
}

const SWEEP_MS = 2_000

/** The grace at shutdown for unfinished requests and unread answers. */
const UNSENT_MS = 10_000
/** A proxy sends on its new connection at once, and may not send a POST again. */
const NEW_MS = 1_000
const UNREAD_MS = 20_000

export interface ConnectionsDeps {
  readonly limits: ConnectionLimits
  /** Undefined for a trusted proxy, which carries many clients. */
  ownerOf(socketAddress: string): string | undefined
}

export class Connections {
  readonly #deps: ConnectionsDeps
  readonly #held = new Map<string, number>()
  readonly #open = new WeakMap<Duplex, ClientConnection>()
  readonly #sockets = new Set<Socket>()
  readonly #line: SharedLine = { waiting: 0 }
  #closingMs: number | undefined

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps
  }

  watch(server: Pick<Server, 'on' | 'closeIdleConnections'> & { maxConnections: number }): void {
    server.maxConnections = this.#deps.limits.total
    // Undocumented, but the only way to answer a client that half-closes.
    Object.assign(server, { httpAllowHalfOpen: true })
    server.on('connection', (socket: Socket) => this.#accept(socket))
    const sweeping = setInterval(() => this.#sweep(), SWEEP_MS).unref()
    server.on('close', () => clearInterval(sweeping))
    // Node's version drops unread answers.
    server.closeIdleConnections = () => this.#closeIdle()
  }

  of(socket: Duplex): ClientConnection {
    const known = this.#open.get(socket)
    if (known !== undefined) return known
    const connection = new ClientConnection(socket, {
      requestsMax: this.#deps.limits.requestsPerSocket,
      line: this.#line,
    })
    this.#open.set(socket, connection)
    return connection
  }

  #accept(socket: Socket): void {
    const owner = this.#deps.ownerOf(socket.remoteAddress ?? '')
    const held = owner === undefined ? 0 : (this.#held.get(owner) ?? 0)
    const { crowded, perAddress, silentMs } = this.#deps.limits
    // An answer would hold the socket.
    if (this.#sockets.size >= crowded && held >= perAddress) return void socket.destroy()
    this.#sockets.add(socket)
    if (owner !== undefined) this.#held.set(owner, held + 1)
    const silent = setTimeout(() => {
      if (socket.bytesRead === 0) socket.destroy()
    }, silentMs)
    silent.unref()
    // A half-closed client sends no more requests.
    socket.once('end', () => this.of(socket).end())
    socket.once('close', () => {
      clearTimeout(silent)
      this.#sockets.delete(socket)
      if (owner !== undefined) this.#release(owner)
    })
  }

  #sweep(): void {
    const { idleMs, stillMs } = this.#deps.limits
    for (const socket of this.#sockets) {
      const connection = this.of(socket)
      const { swept } = connection
      const bytes = socket.bytesRead + socket.bytesWritten
      const isIdle = this.#isIdle(socket)
      const isSame = bytes === swept.bytes && isIdle === swept.isIdle
      const sameMs = isSame ? swept.sameMs + SWEEP_MS : 0
      connection.swept = { bytes, isIdle, sameMs }
      // Only Node knows whether a client is reading an answer.
      const isSending = socket.writableLength > 0 || connection.isStreaming
      if (isSending !== Boolean(socket.timeout)) socket.setTimeout(isSending ? stillMs : 0)
      if (!isSending && sameMs > (isIdle ? idleMs : stillMs)) socket.destroy()
    }
    if (this.#closingMs === undefined) return
    this.#closingMs += SWEEP_MS
    this.#closeIdle()
  }

  #closeIdle(): void {
    this.#closingMs ??= 0
    for (const socket of this.#sockets)
      if (this.#closingMs >= this.#patienceMs(socket)) socket.destroy()
  }

  #patienceMs(socket: Socket): number {
    if (socket.bytesRead === 0) return NEW_MS
    if (this.#isIdle(socket)) return 0
    const isAnswering = socket.writableLength > 0 || this.of(socket).isAnswering
    return isAnswering ? UNREAD_MS : UNSENT_MS
  }

  /** Requests came, and every answer has left this process. */
  #isIdle(socket: Socket): boolean {
    return socket.writableLength === 0 && this.of(socket).isIdle
  }

  #release(owner: string): void {
    const held = (this.#held.get(owner) ?? 0) - 1
    if (held > 0) this.#held.set(owner, held)
    else this.#held.delete(owner)
  }
}

export class ClientConnection {
  /** The state at the last sweep, unchanged for `sameMs`. */
  swept = { bytes: 0, isIdle: false, sameMs: 0 }
  readonly #requestsMax: number
  #begun = 0
  #ignored = 0
  /** Later requests are ignored; the next answer ends the connection (RFC 9112, 9.6). */
  #isEnding = false
  #isStreaming = false
  #isBroken = false
  #newest: ServerResponse | undefined
  #answering: ServerResponse | undefined

  readonly #socket: Duplex
  readonly #line: SharedLine
  /** Made by the first pipelined request. */
  #requests: RequestLine | undefined
  #before: ServerResponse | undefined
  #gone: AbortSignal | undefined

  constructor(
    socket: Duplex,
    { requestsMax, line }: { readonly requestsMax: number; readonly line: SharedLine },
  ) {
    this.#socket = socket
    this.#requestsMax = requestsMax
    this.#line = line
  }

  /**
   * Aborts when the client leaves or half-closes; answers are still written, since it may read.
   * Lazy: most handlers finish first.
   */
  get gone(): AbortSignal {
    this.#gone ??= goneSignal(this.#socket)
    return this.#gone
  }

  /** A half-closed client may still read. */
  get isCut(): boolean {
    return this.#socket.destroyed || !this.#socket.writable
  }

  get isIdle(): boolean {
    return this.#newest?.writableFinished === true
  }

  get isAnswering(): boolean {
    const answering = this.#answering
    return answering !== undefined && !isOver(answering)
  }

  begin(response: ServerResponse): boolean {
    if (this.#isEnding) {
      this.#ignore()
      return false
    }
    this.#before = this.#newest
    this.#newest = response
    this.#begun += 1
    if (this.#begun >= this.#requestsMax || this.#requests?.isFull === true) this.#isEnding = true
    return true
  }

  /** Node keeps ignored requests until the connection closes, so they count as waiting. */
  #ignore(): void {
    if (isFull(this.#line, this.#ignored)) this.#socket.destroy()
    this.#ignored += 1
    this.#line.waiting += 1
    if (this.#ignored > 1) return
    this.#socket.once('close', () => {
      this.#line.waiting -= this.#ignored
    })
  }

  /** Undefined if it may be answered at once; false if the connection was cut meanwhile. */
  take(response: ServerResponse): Promise<boolean> | undefined {
    const before = this.#before
    if (this.#requests === undefined) {
      if (before === undefined || isOver(before)) return undefined
      this.#requests = new RequestLine(this.#socket, this.#line, before)
    }
    return this.#requests.take(response)
  }

  answering(response: ServerResponse): void {
    this.#answering = response
  }

  end(): void {
    this.#isEnding = true
  }

  /** Events may be rare, and are the last answer. */
  stream(): void {
    this.#isStreaming = true
    this.end()
  }

  get isStreaming(): boolean {
    return this.#isStreaming
  }

  /** When stopping, only the newest answer ends it: earlier ones were charged too. */
  isLast(response: ServerResponse, isStopping: boolean): boolean {
    if (this.#newest !== response) return false
    this.#isEnding ||= isStopping
    return this.#isEnding
  }

  /**
   * Ends after pending answers, so that unreadable bytes cannot lose a charged one. `refuse` runs
   * unless the last of them ends it anyway.
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
