import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { LRUCache } from 'lru-cache'
import { Mutex } from '#lib/mutex.ts'
import type { BulkInsert, Connection, Engine, Migration, Row } from '../engine.ts'
import { ConstraintError, StoreError } from '../engine.ts'
import { appliedIds, assertInOrder, statementsOf } from '../migrate.ts'
import { type Sql, type SqlValue, sql, toPlain } from '../sql.ts'
import { LogSync, type SyncFile } from './log-sync.ts'

export interface SqliteOptions {
  /** File of the database; folders are made. */
  readonly file: string
  /** `full` survives power loss; `normal` survives the end of the process only. */
  readonly durability: 'full' | 'normal'
  /** Rows come by the hundred thousand; else each commit is small. Counts when the file is made. */
  readonly bulk?: boolean
  /** How the log of a `full` database is brought onto the disk; the system's own way by default. */
  readonly sync?: SyncFile
}

/** Another process may hold the write lock for one commit; a commit takes far less than this. */
const BUSY_TIMEOUT_MS = 5_000

/**
 * Pages in memory. What a bulk commit touches should be written once; what is read lies in the
 * operating system's cache anyway.
 */
const CACHE_KIB = { writer: 12 * 1_024, reader: 4 * 1_024 } as const

/** Bytes of a page and pages of log until they are copied into the file: 64 and 4 megabytes. */
const PAGES = {
  bulk: { bytes: 8_192, perCheckpoint: 8_000 },
  small: { bytes: 4_096, perCheckpoint: 1_000 },
} as const

/** Distinct statement texts are few; the bound only guards against a mistake. */
const STATEMENTS_MAX = 1_000

/** SQLite's primary result code for a constraint; the extended codes share its low byte. */
const SQLITE_CONSTRAINT = 19

/** Opens the embedded engine: one connection that writes, one that reads, in WAL mode. */
export function openSqlite(options: SqliteOptions): Engine {
  mkdirSync(dirname(options.file), { recursive: true })
  const writer = new SqliteConnection(options, CACHE_KIB.writer)
  const reader = new SqliteConnection(options, CACHE_KIB.reader)
  const log = options.durability === 'full' ? openLog(options) : undefined
  const writes = new Mutex()
  const snapshots = new Mutex()
  const write = async <T>(work: (connection: Connection) => Promise<T>) => {
    const done = await writes.run(async () => {
      if (log?.hasFailed === true) beginNewLog(writer, log)
      const result = await writer.transaction('begin immediate', work)
      return { result, durable: log?.afterCommit() }
    })
    await done.durable
    return done.result
  }
  // What is read may be committed and not yet on the disk; nobody is told of it before it is.
  const read = async <T>(work: () => Promise<T>) => {
    const result = await snapshots.run(work)
    if (log?.hasFailed === true) await writes.run(async () => beginNewLog(writer, log))
    else if (log?.isBehind === true) await log.settled()
    return result
  }
  return {
    dialect: 'sqlite',
    // A read that falls between the statements of a snapshot would share its older state.
    read: (statement) => read(() => reader.run(statement)),
    snapshot: (work) => read(() => reader.transaction('begin', work)),
    write,
    migrate: (migrations) => migrate(writer, write, migrations),
    close: () =>
      writes.run(() =>
        snapshots.run(async () => {
          await log?.close()
          closeAll(reader, writer)
        }),
      ),
  }
}

function openLog({ file, sync }: SqliteOptions): LogSync {
  return new LogSync({ file: `${file}-wal`, ...(sync !== undefined && { sync }) })
}

/**
 * Copies the whole log into the database, which SQLite then syncs itself, and begins the log anew:
 * frames behind one that never reached the disk would not be found after a loss of power.
 */
function beginNewLog(writer: SqliteConnection, log: LogSync): void {
  if (!writer.truncateLog()) throw new StoreError('SQLite: the log cannot be begun anew yet')
  log.healed()
}

function closeAll(...connections: readonly SqliteConnection[]): void {
  for (const connection of connections) connection.close()
}

async function migrate(
  writer: SqliteConnection,
  write: Engine['write'],
  migrations: readonly Migration[],
): Promise<void> {
  assertInOrder(migrations)
  writer.execute(
    'create table if not exists migrations (id bigint primary key, name text not null)',
  )
  for (const migration of migrations) {
    await write(async (connection) => {
      if ((await appliedIds(connection, migrations)).has(migration.id)) return
      writer.execute(statementsOf(migration, 'sqlite'))
      await connection.run(
        sql`insert into migrations (id, name) values (${migration.id}, ${migration.name})`,
      )
    })
  }
}

class SqliteConnection implements Connection {
  readonly #database: DatabaseSync
  readonly #inserts = new WeakMap<BulkInsert, Map<number, string>>()
  readonly #statements = new LRUCache<string, StatementSync>({ max: STATEMENTS_MAX })

  constructor(options: SqliteOptions, cacheKib: number) {
    this.#database = new DatabaseSync(options.file, { timeout: BUSY_TIMEOUT_MS })
    const pages = options.bulk === true ? PAGES.bulk : PAGES.small
    this.execute(`pragma page_size = ${pages.bytes}`)
    this.execute('pragma journal_mode = wal')
    // The log is synced at checkpoints only; `LogSync` syncs it after each commit where it matters.
    this.execute('pragma synchronous = normal')
    this.execute('pragma foreign_keys = on')
    this.execute(`pragma cache_size = -${cacheKib}`)
    this.execute(`pragma wal_autocheckpoint = ${pages.perCheckpoint}`)
  }

  async run(statement: Sql): Promise<readonly Row[]> {
    return this.#guard(() => this.#prepare(toPlain(statement)).all(...statement.values) as Row[])
  }

  async insert(into: BulkInsert, rows: Iterable<readonly SqlValue[]>): Promise<readonly Row[]> {
    return this.#guard(() => {
      const found: Row[] = []
      for (const part of chunksOf(rows, ROWS_AT_ONCE)) {
        let from = 0
        for (let size = ROWS_AT_ONCE; size >= 1; size /= 2) {
          if (part.length - from < size) continue
          const statement = this.#prepareInsert(into, size)
          found.push(...(statement.all(...part.slice(from, from + size).flat()) as Row[]))
          from += size
        }
      }
      return found
    })
  }

  execute(text: string): void {
    this.#guard(() => this.#database.exec(text))
  }

  async transaction<T>(begin: string, work: (connection: Connection) => Promise<T>): Promise<T> {
    this.execute(begin)
    try {
      const result = await work(this)
      this.execute('commit')
      return result
    } catch (error) {
      if (this.#database.isTransaction) this.execute('rollback')
      throw error
    }
  }

  /** False while a reader of an older state holds the log; waits for nobody. */
  truncateLog(): boolean {
    this.execute('pragma busy_timeout = 0')
    try {
      return this.#guard(() => {
        const row = this.#database.prepare('pragma wal_checkpoint(truncate)').get()
        return row?.busy === 0
      })
    } finally {
      this.execute(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
    }
  }

  close(): void {
    this.#statements.clear()
    this.#database.close()
  }

  /** Whoever inserts the same way again and again waits for no text to be put together. */
  #prepareInsert(into: BulkInsert, size: number): StatementSync {
    const bySize = this.#inserts.get(into) ?? new Map<number, string>()
    this.#inserts.set(into, bySize)
    const text = bySize.get(size) ?? insertText(into, size)
    bySize.set(size, text)
    return this.#prepare(text)
  }

  #prepare(text: string): StatementSync {
    const cached = this.#statements.get(text)
    if (cached !== undefined) return cached
    const statement = this.#database.prepare(text)
    this.#statements.set(text, statement)
    return statement
  }

  #guard<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw toStoreError(error)
    }
  }
}

/**
 * More at once are no faster; one by one takes a third longer. Halved for what is left over, so that
 * there are six texts to prepare and not one for each number of rows.
 */
const ROWS_AT_ONCE = 32

function insertText({ table, columns, conflict = '' }: BulkInsert, count: number): string {
  const names = Object.keys(columns)
  const row = `(${names.map(() => '?').join(', ')})`
  const values = Array.from({ length: count }, () => row).join(', ')
  return `insert into ${table} (${names.join(', ')}) values ${values} ${conflict}`
}

function* chunksOf<T>(values: Iterable<T>, size: number): Iterable<readonly T[]> {
  let chunk: T[] = []
  for (const value of values) {
    chunk.push(value)
    if (chunk.length < size) continue
    yield chunk
    chunk = []
  }
  yield chunk
}

function toStoreError(error: unknown): StoreError {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0
  const message = error instanceof Error ? error.message : String(error)
  const Kind = (code & 0xff) === SQLITE_CONSTRAINT ? ConstraintError : StoreError
  return new Kind(`SQLite: ${message}`, { cause: error })
}
