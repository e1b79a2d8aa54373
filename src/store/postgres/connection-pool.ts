import { StoreError } from '../engine.ts'

export interface ConnectionPoolOptions<C extends Lendable> {
  readonly connectionsMax: number
  /** A connection that is not open yet. */
  create(): C
}

/** What the pool must know of a connection. */
export interface Lendable {
  /** Throws StoreError. */
  open(): Promise<void>
  /** Whether it may serve whoever comes next. */
  readonly isUsable: boolean
  /** Resolves when it is over; never rejects. */
  end(): Promise<void>
  /** Ends it at once; what is under way fails, and so does what comes. */
  destroy(): void
}

interface Waiter<C> {
  resolve(connection: C): void
  reject(error: unknown): void
}

/** Work in flight is given this long when the process stops. */
const CLOSE_TIMEOUT_MS = 5_000

/** More waiters than this cannot be served within a request's time; they are refused at once. */
const WAITING_MAX = 20_000

/**
 * Lends connections to one piece of work at a time. A lost one is replaced when it is given back, and
 * nobody waits longer than one attempt to connect for a server that cannot be reached.
 */
export class ConnectionPool<C extends Lendable> {
  readonly #options: ConnectionPoolOptions<C>
  /** Open, being opened, or lent and lost. */
  readonly #all = new Set<C>()
  readonly #opening = new Set<C>()
  readonly #leaving = new Set<C>()
  #idle: C[] = []
  #waiting: Waiter<C>[] = []
  #closing: { readonly done: Promise<void>; readonly resolve: () => void } | undefined

  constructor(options: ConnectionPoolOptions<C>) {
    this.#options = options
  }

  async use<T>(work: (connection: C) => Promise<T>): Promise<T> {
    const connection = await this.#take()
    try {
      return await work(connection)
    } finally {
      this.#giveBack(connection)
    }
  }

  /** Waits for work in flight and for the server's goodbye, but not for long. */
  close(): Promise<void> {
    if (this.#closing !== undefined) return this.#closing.done
    const { promise, resolve } = Promise.withResolvers<void>()
    const late = setTimeout(() => this.#abandon(), CLOSE_TIMEOUT_MS)
    const done = promise.finally(() => clearTimeout(late))
    this.#closing = { done, resolve }
    for (const connection of this.#idle) this.#drop(connection)
    this.#idle = []
    this.#resolveWhenClosed()
    return done
  }

  #take(): Promise<C> {
    if (this.#closing !== undefined) return Promise.reject(isClosed())
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isUsable) return Promise.resolve(idle)
      this.#drop(idle)
    }
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject }
      if (this.#all.size < this.#options.connectionsMax) void this.#openFor(waiter)
      else if (this.#waiting.length < WAITING_MAX) this.#waiting.push(waiter)
      else reject(new StoreError('PostgreSQL: too many statements wait for a connection'))
    })
  }

  async #openFor(waiter: Waiter<C>): Promise<void> {
    const connection = this.#options.create()
    this.#all.add(connection)
    this.#opening.add(connection)
    try {
      await connection.open()
      this.#opening.delete(connection)
      waiter.resolve(connection)
    } catch (failure) {
      this.#opening.delete(connection)
      this.#drop(connection)
      waiter.reject(failure)
      // Nothing is lent that could come back to those who wait.
      if (this.#all.size === this.#opening.size) this.#refuseWaiting(failure)
    }
  }

  #giveBack(connection: C): void {
    const next = this.#waiting.shift()
    if (!connection.isUsable) {
      this.#drop(connection)
      if (next !== undefined) void this.#openFor(next)
    } else if (next !== undefined) next.resolve(connection)
    else if (this.#closing !== undefined) this.#drop(connection)
    else this.#idle.push(connection)
  }

  #drop(connection: C): void {
    this.#all.delete(connection)
    this.#leaving.add(connection)
    void connection.end().then(() => {
      this.#leaving.delete(connection)
      this.#resolveWhenClosed()
    })
  }

  #resolveWhenClosed(): void {
    if (this.#all.size + this.#leaving.size === 0) this.#closing?.resolve()
  }

  #abandon(): void {
    this.#refuseWaiting(isClosed())
    for (const connection of [...this.#all, ...this.#leaving]) connection.destroy()
  }

  #refuseWaiting(error: unknown): void {
    const refused = this.#waiting
    this.#waiting = []
    for (const each of refused) each.reject(error)
  }
}

const isClosed = () => new StoreError('PostgreSQL: the store is closed')
