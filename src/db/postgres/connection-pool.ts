import assert from 'node:assert/strict'
import { Pool } from 'pg'
import { type PoolFigures, StoreError } from '../engine.ts'
import {
  PostgresConnection,
  type PostgresConnectionOptions,
  toStoreError,
} from './postgres-connection.ts'

const CLOSE_TIMEOUT_MS = 5_000

/** A longer queue could not be served within a request's time. */
const WAITING_MAX = 20_000
const WAIT_MAX_MS = 10_000

/** Waits this long before it asks a full server again. */
const GROW_AGAIN_MS = 1_000

/** Idle connections are closed after this, except for one. */
const IDLE_MAX_MS = 60_000

/** A `pg.Pool` with a bounded queue, figures for metrics, and a bounded close. */
export class ConnectionPool {
  readonly #connectionsMax: number
  readonly #pool: Pool
  readonly #living = new Set<PostgresConnection>()
  readonly #drained = Promise.withResolvers<void>()
  #inUse = 0
  #waiting = 0
  #refused = 0
  #growing: NodeJS.Timeout | undefined
  #isClosing = false
  #closed: Promise<void> | undefined

  constructor(options: PostgresConnectionOptions & { readonly connectionsMax: number }) {
    this.#connectionsMax = options.connectionsMax
    const living = this.#living
    const Client = class extends PostgresConnection {
      constructor() {
        super(options)
        living.add(this)
        this.once('end', () => living.delete(this))
      }
    }
    this.#pool = new Pool({
      Client,
      onConnect: (client) => asOurs(client).startSession(),
      max: options.connectionsMax,
      min: 1,
      idleTimeoutMillis: IDLE_MAX_MS,
      connectionTimeoutMillis: WAIT_MAX_MS,
    })
    // Ignores the loss of an idle connection; the next call opens another.
    this.#pool.on('error', () => undefined)
  }

  figures(): PoolFigures {
    return {
      connectionsMax: this.#connectionsMax,
      open: this.#open,
      inUse: this.#inUse,
      waiting: this.#waiting,
      refused: this.#refused,
    }
  }

  async use<T>(work: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    const connection = await this.#take()
    try {
      return await work(connection)
    } finally {
      connection.release(!connection.isUsable)
      this.#inUse -= 1
      this.#noteDrained()
    }
  }

  /** Drains in-flight work, then waits up to `CLOSE_TIMEOUT_MS` for the server to close. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  get #open(): number {
    return this.#inUse + this.#pool.idleCount
  }

  async #take() {
    this.#waiting += 1
    try {
      if (this.#isClosing) throw new StoreError('PostgreSQL: the store is closed')
      if (this.#waiting > WAITING_MAX)
        throw new StoreError('PostgreSQL: too many statements wait; raise SEXTON_CONNECTIONS')
      const connection = await this.#connect()
      this.#inUse += 1
      return connection
    } catch (error) {
      this.#refused += 1
      throw toStoreError(error)
    } finally {
      this.#waiting -= 1
      this.#noteDrained()
    }
  }

  /** If the server is full, waits for a lent connection. A late failure is final, which bounds the wait. */
  async #connect() {
    const endMs = performance.now() + WAIT_MAX_MS / 2
    for (;;)
      try {
        return asOurs(await this.#pool.connect())
      } catch (error) {
        if (this.#open === 0 || this.#pool.ending || performance.now() >= endMs) throw error
        this.#growLater()
      }
  }

  #growLater(): void {
    this.#pool.options.max = this.#open
    this.#growing ??= setTimeout(() => {
      this.#growing = undefined
      this.#pool.options.max = this.#connectionsMax
    }, GROW_AGAIN_MS).unref()
  }

  async #close(): Promise<void> {
    this.#isClosing = true
    const late = setTimeout(() => {
      this.#drained.resolve()
      for (const each of this.#living) each.destroy()
    }, CLOSE_TIMEOUT_MS)
    this.#noteDrained()
    await this.#drained.promise
    await this.#pool.end()
    await Promise.all([...this.#living].map((each) => each.gone))
    clearTimeout(late)
  }

  #noteDrained(): void {
    if (this.#isClosing && this.#waiting + this.#inUse === 0) this.#drained.resolve()
  }
}

function asOurs<C extends object>(client: C): C & PostgresConnection {
  assert(client instanceof PostgresConnection)
  return client
}
