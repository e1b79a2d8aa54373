import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** Longer than what clients think between two calls, short enough to free idle sockets. */
const IDLE_SECONDS = 10

/** On a connection that stays: how long, so that no client asks just as it is closed. */
export const KEEP_ALIVE_HEADER: readonly string[] = ['Keep-Alive', `timeout=${IDLE_SECONDS}`]

export interface ConnectionLimits {
  /** Sockets of this process. */
  readonly total: number
  /** From this many sockets on, the limit of one address holds. */
  readonly crowded: number
  readonly perAddress: number
  /** A socket that sent no byte for so long is closed. */
  readonly silentMs: number
  readonly requestsPerSocket: number
  /** A socket that got its answers and sent no byte for so long is closed, at most four seconds later. */
  readonly idleMs: number
  /** A socket that waits for its answer, or has not read it, and on which nothing moves for so long is closed. */
  readonly stillMs: number
}

/**
 * A socket costs some 10 KB; 10,000 fit beside the rest of the process. While half are free, anybody
 * may take them; after that nobody gets more than 500, which leaves room for others. What opens a
 * connection early, as browsers do, sends within 4 s. Clients reconnect after 100,000 requests, so
 * that load spreads over new replicas. The longest long poll takes 30 s.
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

/** Idle sockets are looked for so often. */
const SWEEP_MS = 2_000

/** A server that closes waits so long for the rest of a request, and for who does not read his answer. */
const UNSENT_MS = 10_000
const UNREAD_MS = 20_000

export interface ConnectionsDeps {
  readonly limits: ConnectionLimits
  /** Whose socket it is; undefined for a proxy of ours, which holds the sockets of many. */
  ownerOf(socketAddress: string): string | undefined
}

/** The open sockets of a server, and how many an address holds. */
export class Connections {
  readonly #deps: ConnectionsDeps
  readonly #held = new Map<string, number>()
  readonly #open = new WeakMap<Duplex, ClientConnection>()
  readonly #sockets = new Set<Socket>()
  /** Since when the server closes; undefined while it is open. */
  #closingMs: number | undefined

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps
  }

  /** Counts the server's sockets from now on, and closes those that are idle for too long. */
  watch(server: Pick<Server, 'on' | 'closeIdleConnections'> & { maxConnections: number }): void {
    server.maxConnections = this.#deps.limits.total
    // Undocumented, and the only way to answer a client that closes its side after a request.
    Object.assign(server, { httpAllowHalfOpen: true })
    server.on('connection', (socket: Socket) => this.#accept(socket))
    const sweeping = setInterval(() => this.#sweep(), SWEEP_MS).unref()
    server.on('close', () => clearInterval(sweeping))
    // Node's own would drop answers that are written and not yet read.
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
    // A reset costs nothing; an answer would hold the socket that nobody has room for.
    if (this.#sockets.size >= crowded && held >= perAddress) return void socket.destroy()
    this.#sockets.add(socket)
    if (owner !== undefined) this.#held.set(owner, held + 1)
    const silent = setTimeout(() => {
      if (socket.bytesRead === 0) socket.destroy()
    }, silentMs)
    silent.unref()
    // A client that closes its side asks nothing more, and its last answer says so.
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
      // Only Node knows whether a client takes bytes of an answer.
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

  /** How long a server that closes waits for a socket. */
  #patienceMs(socket: Socket): number {
    if (socket.bytesRead === 0 || this.#isIdle(socket)) return 0
    const isAnswering = socket.writableLength > 0 || this.of(socket).isAnswering
    return isAnswering ? UNREAD_MS : UNSENT_MS
  }

  /** Whether something came, and all of it is answered and has left this process. */
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
