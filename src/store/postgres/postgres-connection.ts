import { Socket } from 'node:net'
import { Client, DatabaseError, type QueryResult, types } from 'pg'
import type { Row } from '../engine.ts'
import { ConstraintError, LockTimeoutError, OldPrimaryError, StoreError } from '../engine.ts'
import { type Sql, type SqlValue, toNumbered } from '../sql.ts'

export interface PostgresConnectionOptions {
  readonly hosts: Hosts
  readonly session: string
  readonly names: Map<string, string>
  /** While a response is due; 0 for no limit. */
  readonly silenceMaxMs: number
}

export interface Hosts {
  /** One per host, the last that worked first. */
  urls: readonly string[]
  /** The newest that was seen; it rises when a standby is promoted (PostgreSQL 18, 25.3.6). */
  timeline?: number
}

const CONNECT_TIMEOUT_MS = 5_000

/** For middleboxes. */
const KEEP_ALIVE_MS = 30_000

/** Bounds the server's memory. */
const NAMES_MAX = 2_000

/** Useless connections: outdated or forgotten statement, read-only server. */
const STALE = new Set(['0A000', '26000', '25006'])

/**
 * Never reopened, so that no statement of a transaction reaches another session. Pipelines
 * statements.
 */
export class PostgresConnection {
  #client = new Client()
  #socket = new Socket()
  readonly #hosts: PostgresConnectionOptions['hosts']
  readonly #silenceMaxMs: number
  readonly #names: Map<string, string>
  readonly #session: string
  #isUsable = false
  #unanswered = 0
  #warning: string | undefined

  constructor({ hosts, session, names, silenceMaxMs }: PostgresConnectionOptions) {
    this.#hosts = hosts
    this.#session = session
    this.#names = names
    this.#silenceMaxMs = silenceMaxMs
  }

  #dial(url: string): void {
    const silenceMaxMs = this.#silenceMaxMs
    const socket = new Socket()
    this.#socket = socket
    this.#client = new Client({
      connectionString: url,
      stream: () => socket,
      pipeline: true,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      connectionTimeoutMillis: Math.min(CONNECT_TIMEOUT_MS, silenceMaxMs || CONNECT_TIMEOUT_MS),
      types: { getTypeParser },
    })
    // An error without listener would end the process.
    this.#client.on('error', () => this.discard())
    this.#client.on('end', () => this.discard())
    this.#client.on('notice', ({ severity, message }) => {
      if (severity === 'WARNING') this.#warning = message
    })
    socket.setTimeout(silenceMaxMs, () => {
      if (this.#unanswered > 0) this.destroy()
    })
  }

  /** After StoreError it can only be destroyed. */
  async open(): Promise<void> {
    const { urls, timeline } = this.#hosts
    if (timeline === undefined && urls.length > 1) await this.#seeAll(urls)
    const failures: StoreError[] = []
    for (const url of urls)
      try {
        await this.#openAt(url, urls.length > 1)
        if (url !== urls[0]) this.#hosts.urls = [url, ...urls.filter((each) => each !== url)]
        return
      } catch (error) {
        failures.push(toStoreError(error))
      }
    if (failures.length === 1) throw failures[0]
    const words = failures.map(({ message }, at) => `${hostOf(urls[at])}: ${message}`).join('; ')
    throw new StoreError(`PostgreSQL: no host takes writes (${words})`)
  }

  async #openAt(url: string, mustWrite: boolean): Promise<void> {
    this.#dial(url)
    await this.#client.connect()
    await this.command(this.#session)
    const { reads, timeline } = await this.#see()
    const refusal = mustWrite && reads ? new StoreError('it only reads') : this.#judge(timeline)
    if (refusal !== undefined) {
      await this.end()
      throw refusal
    }
    this.#isUsable = true
  }

  /** A process may start while an old primary and the new one both run. */
  async #seeAll(urls: readonly string[]): Promise<void> {
    for (const url of urls)
      try {
        this.#dial(url)
        await this.#client.connect()
        this.#judge((await this.#see()).timeline)
      } catch {
        // It is named when it is opened.
      } finally {
        await this.end()
      }
  }

  async #see(): Promise<{ readonly reads: boolean; readonly timeline: number }> {
    const [row] = await this.ask(`
      select current_setting('transaction_read_only') as reads, case when pg_is_in_recovery() then ''
        else pg_walfile_name(pg_current_wal_lsn()) end as segment`)
    const timeline = Number.parseInt(String(row?.segment).slice(0, 8), 16)
    return { reads: row?.reads === 'on', timeline }
  }

  /** Remembers a newer timeline. That of a standby is not a number. */
  #judge(timeline: number): OldPrimaryError | undefined {
    const { timeline: newest = 0 } = this.#hosts
    if (timeline > newest) this.#hosts.timeline = timeline
    if (!(timeline < newest)) return undefined
    return new OldPrimaryError(
      `an old primary: its timeline ${timeline} is behind ${newest}; make it a standby of the new one`,
    )
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

  /** The server only warns when it did not wait for the standby. */
  async commit(): Promise<string> {
    this.#warning = undefined
    const done = await this.command('commit')
    const warning = this.#warning
    if (warning === undefined) return done
    throw new StoreError(`PostgreSQL: the commit may not have reached the standby (${warning})`)
  }

  /** Without preparing anything. */
  async ask(text: string): Promise<readonly Row[]> {
    return (await this.#send({ text })).rows
  }

  /** Calls back for each until the connection ends. */
  notifications(onNotification: (payload: string | undefined) => void): Promise<void> {
    this.#client.on('notification', ({ payload }) => onNotification(payload))
    return new Promise((resolve) => {
      if (!this.#isUsable) resolve()
      for (const event of ['end', 'error'] as const) this.#client.once(event, () => resolve())
    })
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
  async end(): Promise<void> {
    this.discard()
    await this.#client.end().catch(() => undefined)
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
      this.#client.query<Row>(query, (error: unknown, result) => {
        this.#unanswered -= 1
        if (!error) return resolve(result)
        if (!leavesUsable(error)) this.discard()
        reject(toStoreError(error))
      })
    })
  }
}

function hostOf(url = ''): string {
  return new URL(url).host
}

/** 64-bit integers become exact numbers. */
const getTypeParser: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === types.builtins.INT8 ? exactNumber : types.getTypeParser(oid, format)

function exactNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new StoreError(`integer ${text} is too large to be exact`)
  return value
}

/** The server's own errors leave the session usable. */
function leavesUsable(error: unknown): boolean {
  if (error instanceof StoreError) return true
  if (!(error instanceof DatabaseError)) return false
  return error.severity === 'ERROR' && !STALE.has(error.code ?? '')
}

const GRANT = 'run "sexton migrate" as the owner of the tables, then what "sexton grants" prints'

/** 42501: insufficient privilege. */
function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const message = (error instanceof Error && error.message) || code || String(error)
  const advice = code === '42501' ? `; ${GRANT}` : ''
  return new (kindOf(code))(`PostgreSQL: ${message}${advice}`, { cause: error })
}

/** Class 23: integrity constraint violation; 55P03: lock not available; 40P01: deadlock. */
function kindOf(code: string): typeof StoreError {
  if (/^23[0-9A-Z]{3}$/.test(code)) return ConstraintError
  return code === '55P03' || code === '40P01' ? LockTimeoutError : StoreError
}
