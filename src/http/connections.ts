import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** Longer than clients usually pause, short enough to free idle sockets. */
const IDLE_SECONDS = 10

/** Announces the idle timeout, so that clients do not send just as the socket closes. */
export const KEEP_ALIVE_HEADER: readonly string[] = ['Keep-Alive', `timeout=${IDLE_SECONDS}`]

export interface ConnectionLimits {
  readonly total: number
  /** Above this many sockets, `perAddress` applies. */
  readonly crowded: number
  readonly perAddress: number
  /** A socket that never sent a byte is closed after this. */
  readonly silentMs: number
  readonly requestsPerSocket: number
  /** An idle socket with all answers delivered is closed after this, at most four seconds late. */
  readonly idleMs: number
  /** A socket without progress while an answer is due or unread is closed after this. */
  readonly stillMs: number
}

/**
 * 10,000 sockets at about 10 KB fit in the process. Up to half are first come, first served; beyond
 * that an address gets 500. Preconnecting browsers send within 4 s. A request limit makes clients
 * reconnect, which spreads load to new replicas. The longest long poll takes 30 s.
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

/** Patience at shutdown, for unfinished requests and unread answers. */
const UNSENT_MS = 10_000
const UNREAD_MS = 20_000

export interface ConnectionsDeps {
  readonly limits: ConnectionLimits
  /** Undefined for a trusted proxy, whose sockets carry many clients. */
  ownerOf(socketAddress: string): string | undefined
}

/** Open sockets of a server, counted by address. */
export class Connections {
  readonly #deps: ConnectionsDeps
  readonly #held = new Map<string, number>()
  readonly #open = new WeakMap<Duplex, ClientConnection>()
  readonly #sockets = new Set<Socket>()
  /** Undefined while open. */
  #closingMs: number | undefined

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps
  }

  /** Starts counting sockets and closing idle ones. */
  watch(server: Pick<Server, 'on' | 'closeIdleConnections'> & { maxConnections: number }): void {
    server.maxConnections = this.#deps.limits.total
    // Undocumented, but the only way to answer a client that half-closes after its request.
    Object.assign(server, { httpAllowHalfOpen: true })
    server.on('connection', (socket: Socket) => this.#accept(socket))
    const sweeping = setInterval(() => this.#sweep(), SWEEP_MS).unref()
    server.on('close', () => clearInterval(sweeping))
    // Node's version would drop written but unread answers.
    server.closeIdleConnections = () => this.#closeIdle()
  }

  of(socket: Duplex): ClientConnection {
    const known = this.#open.get(socket)
    if (known !== undefined) return known
    const connection = new ClientConnection(socket, {
      requestsMax: this.#deps.limits.requestsPerSocket,
    })
    this.#open.set(socket, connection)
    return connection
  }

  #accept(socket: Socket): void {
    const owner = this.#deps.ownerOf(socket.remoteAddress ?? '')
    const held = owner === undefined ? 0 : (this.#held.get(owner) ?? 0)
    const { crowded, perAddress, silentMs } = this.#deps.limits
    // Reset without an answer, which would hold a socket.
    if (this.#sockets.size >= crowded && held >= perAddress) return void socket.destroy()
    this.#sockets.add(socket)
    if (owner !== undefined) this.#held.set(owner, held + 1)
    const silent = setTimeout(() => {
      if (socket.bytesRead === 0) socket.destroy()
    }, silentMs)
    silent.unref()
    // A half-closed client sends no more requests, so its last answer ends the connection.
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
      const { bytesRead } = socket
      const isIdle = this.#isIdle(socket)
      const isSame = bytesRead === swept.bytesRead && isIdle === swept.isIdle
      const sameMs = isSame ? swept.sameMs + SWEEP_MS : 0
      connection.swept = { bytesRead, isIdle, sameMs }
      // Only Node knows whether a client is reading an answer.
      const isSending = socket.writableLength > 0
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

  /** How long shutdown waits for a socket. */
  #patienceMs(socket: Socket): number {
    if (socket.bytesRead === 0 || this.#isIdle(socket)) return 0
    const isAnswering = socket.writableLength > 0 || this.of(socket).isAnswering
    return isAnswering ? UNREAD_MS : UNSENT_MS
  }

  /** Whether at least one request came and every answer has left this process. */
  #isIdle(socket: Socket): boolean {
    return socket.writableLength === 0 && this.of(socket).isIdle
  }

  #release(owner: string): void {
    const held = (this.#held.get(owner) ?? 0) - 1
    if (held > 0) this.#held.set(owner, held)
    else this.#held.delete(owner)
  }
}

/** One open socket, and how far its requests are. */
export class ClientConnection {
  /** State at the last sweep, and for how long it has stayed the same. */
  swept = { bytesRead: 0, isIdle: false, sameMs: 0 }
  readonly #requestsMax: number
  #requests = 0
  /** Ignore later requests: the next answer ends the connection (RFC 9112, 9.6). */
  #isEnding = false
  /** The latest bytes were unreadable. */
  #isBroken = false
  /** The newest request; its body may still be arriving. */
  #newest: ServerResponse | undefined
  /** The newest complete request. */
  #answering: ServerResponse | undefined

  readonly #socket: Duplex
  #gone: AbortSignal | undefined

  constructor(socket: Duplex, { requestsMax }: { readonly requestsMax: number }) {
    this.#socket = socket
    this.#requestsMax = requestsMax
  }

  /**
   * Aborts when the client leaves or half-closes. A half-closed client may still read, so answers
   * are still written. Created on demand: most handlers finish first.
   */
  get gone(): AbortSignal {
    this.#gone ??= goneSignal(this.#socket)
    return this.#gone
  }

  /** Whether there were requests and all are answered. */
  get isIdle(): boolean {
    return this.#newest?.writableFinished === true
  }

  /** Whether a complete request awaits its answer. */
  get isAnswering(): boolean {
    const answering = this.#answering
    return answering !== undefined && !isOver(answering)
  }

  /** Counts a request; false if the connection is ending. */
  begin(response: ServerResponse): boolean {
    if (this.#isEnding) return false
    this.#newest = response
    this.#requests += 1
    if (this.#requests >= this.#requestsMax) this.#isEnding = true
    return true
  }

  /** Marks the request as complete. */
  answering(response: ServerResponse): void {
    this.#answering = response
  }

  /** Ignores later requests. */
  end(): void {
    this.#isEnding = true
  }

  /**
   * Whether this answer ends the connection. A stopping server waits for the newest answer, since
   * the earlier ones were charged too.
   */
  isLast(response: ServerResponse, isStopping: boolean): boolean {
    if (this.#newest !== response) return false
    this.#isEnding ||= isStopping
    return this.#isEnding
  }

  /**
   * Ends the connection after pending answers, so that unreadable bytes cannot lose a charged one.
   * `refuse` runs unless the last of them ends it anyway.
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
