import { type PoolFigures, StoreError } from '../engine.ts'

export interface ConnectionPoolOptions<C extends Lendable> {
  readonly connectionsMax: number
  create(): C
}

export interface Lendable {
  open(): Promise<void>
  readonly isUsable: boolean
  end(): Promise<void>
  destroy(): void
}

interface Waiter<C> {
  resolve(connection: C): void
  reject(error: unknown): void
}

const CLOSE_TIMEOUT_MS = 5_000

/** More cannot be served within a request's time. */
const WAITING_MAX = 20_000

/** A full server is not asked again at once. */
const GROW_AGAIN_MS = 1_000

/** All but one go back to the server. */
const IDLE_MAX_MS = 60_000

interface Idle<C> {
  readonly connection: C
  readonly sinceMs: number
}

/**
 * Replaces lost connections on return. Callers wait while connections are lent; with none lent and the
 * server unreachable or full, they wait for at most one attempt.
 */
export class ConnectionPool<C extends Lendable> {
  readonly #options: ConnectionPoolOptions<C>
  readonly #all = new Set<C>()
  readonly #opening = new Set<C>()
  readonly #leaving = new Set<C>()
  #idle: Idle<C>[] = []
  #growAgainMs = 0
  #growing: NodeJS.Timeout | undefined
  #tidying: NodeJS.Timeout | undefined
  #waiting: Waiter<C>[] = []
  #refused = 0
  #closing: { readonly done: Promise<void>; readonly resolve: () => void } | undefined

  constructor(options: ConnectionPoolOptions<C>) {
    this.#options = options
  }

  figures(): PoolFigures {
    return {
      connectionsMax: this.#options.connectionsMax,
      open: this.#all.size - this.#opening.size,
      inUse: this.#all.size - this.#opening.size - this.#idle.length,
      waiting: this.#waiting.length + this.#opening.size,
      refused: this.#refused,
    }
  }

  async use<T>(work: (connection: C) => Promise<T>): Promise<T> {
    let connection: C
    try {
      connection = await this.#take()
    } catch (failure) {
      this.#refused += 1
      throw failure
    }
    try {
      return await work(connection)
    } finally {
      this.#release(connection)
    }
  }

  /** Drains in-flight work, then waits up to `CLOSE_TIMEOUT_MS` for the server to close. */
  close(): Promise<void> {
    if (this.#closing !== undefined) return this.#closing.done
    const { promise, resolve } = Promise.withResolvers<void>()
    const late = setTimeout(() => this.#abandon(), CLOSE_TIMEOUT_MS)
    const done = promise.finally(() => clearTimeout(late))
    this.#closing = { done, resolve }
    clearTimeout(this.#tidying)
    clearTimeout(this.#growing)
    for (const { connection } of this.#idle) this.#drop(connection)
    this.#idle = []
    this.#resolveWhenClosed()
    return done
  }

  #take(): Promise<C> {
    if (this.#closing !== undefined) return Promise.reject(isClosed())
    const idle = this.#takeIdle()
    if (idle !== undefined) return Promise.resolve(idle)
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject }
      if (this.#mayGrow()) void this.#openFor(waiter)
      else if (this.#waiting.length < WAITING_MAX) {
        this.#waiting.push(waiter)
        this.#growLater()
      } else reject(new StoreError('PostgreSQL: too many statements wait for a connection'))
    })
  }

  #takeIdle(): C | undefined {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.connection.isUsable) return idle.connection
      this.#drop(idle.connection)
    }
    return undefined
  }

  #mayGrow(): boolean {
    const { size } = this.#all
    if (size >= this.#options.connectionsMax) return false
    return size === this.#opening.size || performance.now() >= this.#growAgainMs
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
      this.#growAgainMs = performance.now() + GROW_AGAIN_MS
      const idle = this.#takeIdle()
      if (idle !== undefined) return waiter.resolve(idle)
      this.#waiting.unshift(waiter)
      // No lent connection can return.
      if (this.#all.size === this.#opening.size) this.#refuseWaiting(failure)
      this.#growLater()
    }
  }

  /** What is lent may not return for long. */
  #growLater(): void {
    const isOver = this.#waiting.length === 0 || this.#closing !== undefined
    if (isOver || this.#all.size >= this.#options.connectionsMax) return
    this.#growing ??= setTimeout(
      () => {
        this.#growing = undefined
        while (this.#waiting.length > 0 && this.#mayGrow()) {
          const next = this.#waiting.shift()
          if (next !== undefined) void this.#openFor(next)
        }
        this.#growLater()
      },
      Math.max(1, this.#growAgainMs - performance.now()),
    )
  }

  #release(connection: C): void {
    const next = this.#waiting.shift()
    if (!connection.isUsable) {
      this.#drop(connection)
      if (next !== undefined) void this.#openFor(next)
    } else if (next !== undefined) next.resolve(connection)
    else if (this.#closing !== undefined) this.#drop(connection)
    else {
      this.#idle.push({ connection, sinceMs: performance.now() })
      this.#tidyLater()
    }
  }

  #tidyLater(): void {
    if (this.#tidying !== undefined || this.#idle.length < 2) return
    this.#tidying = setTimeout(() => {
      this.#tidying = undefined
      const oldMs = performance.now() - IDLE_MAX_MS
      while (this.#idle.length > 1 && (this.#idle[0]?.sinceMs ?? oldMs) < oldMs) {
        const first = this.#idle.shift()
        if (first !== undefined) this.#drop(first.connection)
      }
      this.#tidyLater()
    }, IDLE_MAX_MS / 2).unref()
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
