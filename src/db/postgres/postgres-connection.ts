import { Socket } from 'node:net'
import { Client, DatabaseError, type QueryResult, types } from 'pg'
import { ConstraintError, LockTimeoutError, StoreError } from '../engine.ts'
import { type Row, type Sql, type SqlValue, toNumbered } from '../sql.ts'

export interface PostgresConnectionOptions {
  readonly url: string
  /** SQL to run once connected. */
  readonly session: string
  readonly names: Map<string, string>
  /** The longest silence while a response is due; 0 for no limit. */
  readonly silenceMaxMs: number
}

const CONNECT_TIMEOUT_MS = 5_000

/** Keeps middleboxes from dropping idle connections. */
const KEEP_ALIVE_MS = 30_000

/** Bounds the server's memory. */
const NAMES_MAX = 2_000

/** Codes after which a connection is useless: outdated or lost statement, read-only server. */
const STALE = new Set(['0A000', '26000', '25006'])

/** Detects poolers: one that pools sessions resets this setting, one that pools transactions passes it on to the next client. */
const MARK = 'sexton.session'

/** A connection that never reopens, so that a transaction's statements cannot reach another session. Pipelines statements. */
export class PostgresConnection extends Client {
  /** Resolves when the socket is closed. */
  readonly gone: Promise<void>
  readonly #socket: Socket
  readonly #names: Map<string, string>
  readonly #session: string
  #isUsable = false
  #unanswered = 0
  #warning: string | undefined

  constructor({ url, session, names, silenceMaxMs }: PostgresConnectionOptions) {
    const socket = new Socket()
    super({
      connectionString: url,
      stream: () => socket,
      pipeline: true,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      connectionTimeoutMillis: Math.min(CONNECT_TIMEOUT_MS, silenceMaxMs || CONNECT_TIMEOUT_MS),
      types: { getTypeParser },
    })
    this.#socket = socket
    this.#session = session
    this.#names = names
    this.gone = new Promise((resolve) => {
      this.once('end', () => resolve())
    })
    // Without a listener, an error would end the process.
    this.on('error', () => this.destroy())
    this.on('end', () => this.discard())
    this.on('notice', ({ severity, message }) => {
      if (severity === 'WARNING') this.#warning = message
    })
    socket.setTimeout(silenceMaxMs, () => {
      if (this.#unanswered > 0) this.destroy()
    })
  }

  /** Once it throws StoreError, the connection can only be closed. */
  async open(): Promise<void> {
    try {
      await this.connect()
    } catch (error) {
      throw toStoreError(error)
    }
    await this.startSession()
  }

  /** Refuses poolers that lend a connection by transaction, which would mix up search paths and prepared statements. */
  async startSession(): Promise<void> {
    const text = `select current_setting('${MARK}', true) as mark; set ${MARK} = 'set'; ${this.#session}`
    const [before] = [await this.#send({ text })].flat()
    if (before?.rows[0]?.mark)
      throw new StoreError(
        'PostgreSQL: a pooler at this URL lends connections by transaction; set pool_mode = session, or name the server itself',
      )
    this.#isUsable = true
  }

  get isUsable(): boolean {
    return this.#isUsable
  }

  discard(): void {
    this.#isUsable = false
  }

  async command(text: string): Promise<string> {
    const results = [await this.#send({ text })].flat()
    return results.at(-1)?.command ?? ''
  }

  /** The server sends only a warning if it did not wait for the standby. */
  async commit(): Promise<string> {
    this.#warning = undefined
    const done = await this.command('commit')
    const warning = this.#warning
    if (warning === undefined) return done
    throw new StoreError(`PostgreSQL: the commit may not have reached the standby (${warning})`)
  }

  /** Calls back for each notification until the connection ends. */
  notifications(onNotification: (payload: string | undefined) => void): Promise<void> {
    this.on('notification', ({ payload }) => onNotification(payload))
    return this.gone
  }

  run(statement: Sql): Promise<readonly Row[]> {
    return this.runText(toNumbered(statement), statement.values)
  }

  async runText(text: string, values: readonly SqlValue[]): Promise<readonly Row[]> {
    const name = this.#nameOf(text)
    const sent = values.map((value) => (value === null ? null : String(value)))
    const { rows } = await this.#send({ text, values: sent, ...(name !== undefined && { name }) })
    return rows
  }

  /** Never rejects. */
  async close(): Promise<void> {
    this.discard()
    await this.end().catch(() => undefined)
  }

  destroy(): void {
    this.discard()
    this.#socket.destroy()
  }

  #nameOf(text: string): string | undefined {
    const known = this.#names.get(text)
    if (known !== undefined || this.#names.size >= NAMES_MAX) return known
    const name = `s${this.#names.size}`
    this.#names.set(text, name)
    return name
  }

  #send(query: {
    readonly text: string
    readonly name?: string
    readonly values?: (string | null)[]
  }): Promise<QueryResult<Row>> {
    this.#unanswered += 1
    return new Promise((resolve, reject) => {
      this.query<Row>(query, (error: unknown, result) => {
        this.#unanswered -= 1
        if (!error) return resolve(result)
        if (!leavesUsable(error)) this.discard()
        reject(toStoreError(error))
      })
    })
  }
}

/** Parses 64-bit integers to exact numbers. */
const getTypeParser: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === types.builtins.INT8 ? exactNumber : types.getTypeParser(oid, format)

function exactNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new StoreError(`integer ${text} is too large to be exact`)
  return value
}

/** Errors that the server reports leave the session usable. */
function leavesUsable(error: unknown): boolean {
  if (error instanceof StoreError) return true
  if (!(error instanceof DatabaseError)) return false
  return error.severity === 'ERROR' && !STALE.has(error.code ?? '')
}

export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const message = (error instanceof Error && error.message) || code || String(error)
  return new (classifyCode(code))(`PostgreSQL: ${message}`, { cause: error })
}

/** Class 23: integrity constraint violation; 55P03: lock not available; 40P01: deadlock. */
function classifyCode(code: string): typeof StoreError {
  if (/^23[0-9A-Z]{3}$/.test(code)) return ConstraintError
  return code === '55P03' || code === '40P01' ? LockTimeoutError : StoreError
}
