import { Socket } from 'node:net'
import { Client, DatabaseError, type QueryResult, types } from 'pg'
import type { Row } from '../engine.ts'
import { ConstraintError, LockTimeoutError, StoreError } from '../engine.ts'
import { type Sql, type SqlValue, toNumbered } from '../sql.ts'

export interface PostgresConnectionOptions {
  readonly url: string
  /** Commands sent first. */
  readonly session: string
  /** Names of prepared statements by their texts, shared by all connections of an engine. */
  readonly names: Map<string, string>
  /** Time without a byte while a response is due, after which the server counts as gone; 0 for no limit. */
  readonly silenceMaxMs: number
}

/** A server that does not accept a connection within this time counts as down. */
const CONNECT_TIMEOUT_MS = 5_000

/** Keeps what stands between from forgetting a connection that is not used. */
const KEEP_ALIVE_MS = 30_000

/** Texts that are prepared; far more than we have, so that texts without end cannot fill the server. */
const NAMES_MAX = 2_000

/**
 * Errors after which a connection is of no use although it stands: a prepared statement that the
 * schema has outrun, one that the server has forgotten, a server that no longer takes writes.
 */
const STALE = new Set(['0A000', '26000', '25006'])

/**
 * One connection, from its opening to its end: once it is lost it refuses everything and is never
 * opened again, so that no statement of a transaction can reach another one. Statements that are
 * given at once are sent at once and answered in their order.
 */
export class PostgresConnection {
  readonly #client: Client
  readonly #socket = new Socket()
  readonly #names: Map<string, string>
  readonly #session: string
  #isUsable = false
  #unanswered = 0

  constructor({ url, session, names, silenceMaxMs }: PostgresConnectionOptions) {
    this.#session = session
    this.#names = names
    this.#client = new Client({
      connectionString: url,
      stream: () => this.#socket,
      pipeline: true,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      connectionTimeoutMillis: Math.min(CONNECT_TIMEOUT_MS, silenceMaxMs || CONNECT_TIMEOUT_MS),
      types: { getTypeParser },
    })
    // What is under way fails by itself; without a listener the loss would end the process.
    this.#client.on('error', () => this.discard())
    this.#client.on('end', () => this.discard())
    this.#socket.setTimeout(silenceMaxMs, () => {
      if (this.#unanswered > 0) this.destroy()
    })
  }

  /** Throws StoreError; it can then only be destroyed. */
  async open(): Promise<void> {
    try {
      await this.#client.connect()
      await this.command(this.#session)
      this.#isUsable = true
    } catch (error) {
      throw toStoreError(error)
    }
  }

  /** Whether it may serve whoever comes next. */
  get isUsable(): boolean {
    return this.#isUsable
  }

  /** Keeps it from being used again. */
  discard(): void {
    this.#isUsable = false
  }

  /** Commands without parameters; tells what the server calls the last one that it did. */
  async command(text: string): Promise<string> {
    const results = [await this.#send({ text })].flat()
    return results.at(-1)?.command ?? ''
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

  /** Says goodbye to the server; resolves when it has answered or is gone, never rejects. */
  async end(): Promise<void> {
    this.discard()
    await this.#client.end().catch(() => undefined)
  }

  /** Ends it at once; what is under way fails. */
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
      this.#client.query<Row>(query, (error: unknown, result) => {
        this.#unanswered -= 1
        if (!error) return resolve(result)
        if (!leavesUsable(error)) this.discard()
        reject(toStoreError(error))
      })
    })
  }
}

/** 64-bit integers are numbers, checked to be exact; everything else is as the driver has it. */
const getTypeParser: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === types.builtins.INT8 ? exactNumber : types.getTypeParser(oid, format)

function exactNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new StoreError(`integer ${text} is too large to be exact`)
  return value
}

/** The server refused a statement and goes on, which it does after no other kind of error. */
function leavesUsable(error: unknown): boolean {
  if (error instanceof StoreError) return true
  if (!(error instanceof DatabaseError)) return false
  return error.severity === 'ERROR' && !STALE.has(error.code ?? '')
}

function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const message = (error instanceof Error && error.message) || code || String(error)
  return new (kindOf(code))(`PostgreSQL: ${message}`, { cause: error })
}

/** SQLSTATE class 23: integrity constraint violation; 55P03: lock not available. */
function kindOf(code: string): typeof StoreError {
  if (/^23[0-9A-Z]{3}$/.test(code)) return ConstraintError
  return code === '55P03' ? LockTimeoutError : StoreError
}
