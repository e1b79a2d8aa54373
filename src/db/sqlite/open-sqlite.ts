import { closeSync, fdatasync, mkdirSync, openSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { LRUCache } from 'lru-cache'
import { Mutex } from '#base/async.ts'
import { type BulkInsert, ConstraintError } from '#db/engine.ts'
import { type Row, type Sql, type SqlValue, toPlain } from '#db/sql.ts'
import { type Connection, type Engine, type Migration, StoreError } from '../engine.ts'
import { appliedIds, applyMissing } from '../migrate.ts'
import { sql } from '../sql.ts'

export interface SqliteOptions {
  readonly file: string
  /** `full` survives power loss; `normal` survives only a crash of the process. */
  readonly durability: 'full' | 'normal'
  /** Tunes for large inserts; fixed when the file is created. */
  readonly bulk?: boolean
  readonly sync?: SyncFile
}

/** Enough to write each page of a bulk commit once; reads rely on the system's cache. */
const CACHE_KIB = { writer: 12 * 1_024, reader: 4 * 1_024 } as const

/** Reads are synchronous, so after this long let other work run. */
const READING_MS = 5

/** Event-loop turns to yield: libuv accepts one connection in each. */
const TURNS = 32

/** Opens one writing and one reading connection, in WAL mode. */
export function openSqlite(options: SqliteOptions): Engine {
  mkdirSync(dirname(options.file), { recursive: true })
  const { file, bulk = false } = options
  // Creates the file private (0600), because it holds wallets and digests of secrets.
  closeSync(openSync(file, 'a', 0o600))
  const reader = new SqliteConnection({ file, bulk, cacheKib: CACHE_KIB.reader })
  const writer = new SqliteConnection({ file, bulk, cacheKib: CACHE_KIB.writer })
  const log = options.durability === 'full' ? openLog(options) : undefined
  const requireFile = log === undefined ? () => undefined : watchPresence(file)
  const writes = new Mutex()
  const snapshots = new Mutex()
  const write: Engine['write'] = async (work) => {
    const done = await writes.run(async () => {
      requireFile()
      if (log?.hasFailed === true) await beginNewLog(writer, log)
      let durable: Promise<void> | undefined
      const result = await inTransaction(writer, 'begin immediate', work, () => {
        durable = log?.afterCommit()
        // Handles the rejection in case the commit itself fails and this promise is never awaited.
        durable?.catch(() => undefined)
      })
      return { result, durable }
    })
    await done.durable
    return done.result
  }
  const turn = turnsOfEventLoop(READING_MS)
  // Reads can see commits that are not yet on disk, so results wait until they are.
  const read = async <T>(work: () => Promise<T>) => {
    requireFile()
    const result = await snapshots.run(async () => {
      await turn()
      return work()
    })
    if (log?.hasFailed === true) await writes.run(() => beginNewLog(writer, log))
    else if (log?.isBehind === true) await log.synced()
    return result
  }
  return {
    dialect: 'sqlite',
    // Queued behind snapshots, because inside one it would see that older state.
    read: (statement) => read(() => reader.run(statement)),
    snapshot: (work) => read(() => inTransaction(reader, 'begin', work)),
    write,
    writeWithoutTimeout: (work) => write(work),
    migrate: (migrations) => migrate(reader, { writer, write }, migrations),
    close: () =>
      writes.run(() =>
        snapshots.run(async () => {
          await log?.close()
          await reader.close()
          await writer.close()
        }),
      ),
  }
}

/** Yields to the event loop once reads have kept it busy for `busyMs`. */
function turnsOfEventLoop(busyMs: number): () => Promise<void> | undefined {
  let sinceMs: number | undefined
  const end = () => {
    sinceMs = undefined
  }
  return () => {
    const nowMs = performance.now()
    if (sinceMs === undefined) {
      sinceMs = nowMs
      void setImmediate().then(end)
    }
    return nowMs - sinceMs < busyMs ? undefined : passTurns()
  }
}

async function passTurns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await setImmediate()
}

/** `committing` runs in the same turn as the commit; if it is synchronous, no read comes between. */
async function inTransaction<T>(
  connection: SqliteConnection,
  begin: 'begin' | 'begin immediate',
  work: (connection: Connection) => Promise<T>,
  committing?: () => void,
): Promise<T> {
  await connection.execute(begin)
  try {
    const result = await work(connection)
    const committed = connection.execute('commit')
    committing?.()
    await committed
    return result
  } catch (error) {
    await connection.rollBack()
    throw error
  }
}

function openLog({ file, sync }: SqliteOptions): LogSync {
  return new LogSync({ file: `${file}-wal`, ...(sync !== undefined && { sync }) })
}

/** A deleted file works until its last user closes it, and what is written meanwhile is lost, so check this often. */
const LOOK_MS = 500

/** The returned check throws StoreError once the file is gone or replaced. */
function watchPresence(file: string): () => void {
  const opened = statSync(file).ino
  let lookedMs = performance.now()
  let isGone = false
  return () => {
    const nowMs = performance.now()
    if (!isGone && nowMs - lookedMs > LOOK_MS) {
      lookedMs = nowMs
      isGone = statSync(file, { throwIfNoEntry: false })?.ino !== opened
    }
    if (isGone)
      throw new StoreError(
        `SQLite: ${basename(file)} was removed or replaced while in use; stop the service and restore a backup`,
      )
  }
}

/** Restarts the WAL after a failed sync, because a power loss would drop frames behind one that is not on disk. */
async function beginNewLog(writer: SqliteConnection, log: LogSync): Promise<void> {
  if (!(await writer.truncateLog())) throw new StoreError('SQLite: cannot restart the WAL yet')
  log.healed()
}

async function migrate(
  reader: SqliteConnection,
  { writer, write }: { readonly writer: SqliteConnection; readonly write: Engine['write'] },
  migrations: readonly Migration[],
): Promise<void> {
  // Usually no migration is missing, so avoid waiting for a writer.
  if (!(await isMissingAny(reader, migrations))) return
  await write(async (connection) => {
    await writer.execute(MIGRATIONS_TABLE)
    const execute = (text: string) => writer.execute(text)
    await applyMissing(connection, execute, { dialect: 'sqlite', migrations })
  })
}

const MIGRATIONS_TABLE =
  'create table if not exists migrations (id bigint primary key, name text not null)'

async function isMissingAny(
  connection: Connection,
  migrations: readonly Migration[],
): Promise<boolean> {
  const tables = await connection.run(sql`select 1 from sqlite_master where name = 'migrations'`)
  if (tables.length === 0) return true
  const applied = await appliedIds(connection, migrations)
  return migrations.some(({ id }) => !applied.has(id))
}

interface ConnectionOptions {
  readonly file: string
  /** Tunes the file for large inserts; fixed when it is created. */
  readonly bulk?: boolean
  readonly cacheKib: number
}

/** Another process holds the write lock for one commit at most. */
const BUSY_TIMEOUT_MS = 5_000

/** Retry delay where SQLite itself does not wait. */
const BUSY_RETRY_MS = 5

const NOBODY_WAKES = new Int32Array(new SharedArrayBuffer(4))

/** 128 MB and 2 MB of WAL per checkpoint. Small commits checkpoint on the answering thread. */
const PAGES = {
  bulk: { bytes: 8_192, perCheckpoint: 16_000 },
  small: { bytes: 1_024, perCheckpoint: 2_000 },
} as const

/** More distinct statements than this mean a bug. */
const STATEMENTS_MAX = 1_000

/** Extended error codes share the low byte. */
const SQLITE_BUSY = 5
const SQLITE_CONSTRAINT = 19

class SqliteConnection implements Connection {
  readonly #database: DatabaseSync
  readonly #statements = new LRUCache<string, Prepared>({ max: STATEMENTS_MAX })
  #isCutShort = false

  constructor(options: ConnectionOptions) {
    this.#database = new DatabaseSync(options.file, { timeout: BUSY_TIMEOUT_MS })
    const pages = options.bulk === true ? PAGES.bulk : PAGES.small
    const pragmas = [
      `page_size = ${pages.bytes}`,
      'journal_mode = wal',
      // SQLite syncs at checkpoints only; `LogSync` syncs commits where needed.
      'synchronous = normal',
      'foreign_keys = on',
      `cache_size = -${options.cacheKib}`,
      `wal_autocheckpoint = ${pages.perCheckpoint}`,
    ]
    const set = (pragma: string) => this.#database.exec(`pragma ${pragma}`)
    try {
      for (const pragma of pragmas) this.#untilFree(() => set(pragma))
    } catch (error) {
      // Closes now: otherwise its locks remain until garbage collection.
      this.#database.close()
      throw error
    }
  }

  /** Retries, because SQLite fails at once when processes create the same file together. */
  #untilFree(work: () => void): void {
    for (const endMs = performance.now() + BUSY_TIMEOUT_MS; ; ) {
      try {
        this.#guard(work)
        return
      } catch (error) {
        if (!isBusy(error) || performance.now() >= endMs) throw error
        Atomics.wait(NOBODY_WAKES, 0, 0, BUSY_RETRY_MS)
      }
    }
  }

  async run(statement: Sql): Promise<readonly Row[]> {
    return this.runText(toPlain(statement), statement.values)
  }

  runText(text: string, values: readonly SqlValue[]): readonly Row[] {
    return this.#guard(() => readRows(this.#prepare(text), values))
  }

  /** A row at a time: SQLite copies every page that a statement of several rows may have to restore. */
  async insert(into: BulkInsert, rows: Iterable<readonly SqlValue[]>): Promise<readonly Row[]> {
    return this.#guard(() => {
      const prepared = this.#prepare(insertText(into))
      const found: Row[] = []
      for (const values of rows)
        if (prepared.names.length === 0) prepared.statement.run(...values)
        else found.push(...readRows(prepared, values))
      return found
    })
  }

  async execute(text: string): Promise<void> {
    this.#guard(() => this.#database.exec(text))
  }

  async rollBack(): Promise<void> {
    try {
      if (this.#database.isTransaction) await this.execute('rollback')
    } finally {
      this.#isCutShort = false
    }
  }

  /** Returns false while a reader holds an older state. */
  async truncateLog(): Promise<boolean> {
    await this.execute('pragma busy_timeout = 0')
    try {
      return this.#guard(() => {
        const row = this.#database.prepare('pragma wal_checkpoint(truncate)').get()
        return row?.busy === 0
      })
    } finally {
      await this.execute(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
    }
  }

  async close(): Promise<void> {
    this.#statements.clear()
    this.#database.close()
  }

  #prepare(text: string): Prepared {
    const cached = this.#statements.get(text)
    if (cached !== undefined) return cached
    const statement = this.#database.prepare(text)
    statement.setReturnArrays(true)
    const prepared = { statement, names: statement.columns().map(({ name }) => asKey(name)) }
    this.#statements.set(text, prepared)
    return prepared
  }

  /** SQLite may roll back by itself after an I/O or memory error; refuse later statements, which would commit alone. */
  #guard<T>(work: () => T): T {
    if (this.#isCutShort) throw new StoreError('SQLite: the transaction was already rolled back')
    let isWithin = false
    try {
      isWithin = this.#database.isTransaction
      return work()
    } catch (error) {
      this.#isCutShort = isWithin && !this.#database.isTransaction
      throw toStoreError(error)
    }
  }
}

interface Prepared {
  readonly statement: StatementSync
  readonly names: readonly string[]
}

/** Interns the name in V8, because other strings are looked up at each use. */
function asKey(name: string): string {
  return Object.keys({ [name]: true })[0] ?? name
}

/** Builds row objects itself, because Node's are in slow dictionary mode. */
function readRows({ statement, names }: Prepared, values: readonly SQLInputValue[]): Row[] {
  const found: unknown[] = statement.all(...values)
  return found.map((list) => {
    const row: Record<string, unknown> = {}
    if (Array.isArray(list))
      for (let index = 0; index < names.length; index += 1) row[names[index] ?? ''] = list[index]
    return row
  })
}

function insertText({ table, columns, constants = {}, conflict = '' }: BulkInsert): string {
  const names = Object.keys({ ...columns, ...constants })
  const row = [...Object.keys(columns).map(() => '?'), ...Object.values(constants)]
  return `insert into ${table} (${names.join(', ')}) values (${row.join(', ')}) ${conflict}`
}

function toStoreError(error: unknown): StoreError {
  const message = error instanceof Error ? error.message : String(error)
  const Kind = readCode(error) === SQLITE_CONSTRAINT ? ConstraintError : StoreError
  return new Kind(`SQLite: ${message}`, { cause: error })
}

/** Whether another connection held a lock for longer than the timeout. */
export function isBusy(error: unknown): boolean {
  return error instanceof StoreError && readCode(error.cause) === SQLITE_BUSY
}

function readCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
}

export type SyncFile = (descriptor: number) => Promise<void>

interface LogSyncOptions {
  /** Path of the write-ahead log, which exists after the first write. */
  readonly file: string
  readonly sync?: SyncFile
}

const syncData: SyncFile = promisify(fdatasync)

/**
 * Syncs the log while the next batch is decided; callers during a sync share the next one. SQLite holds its POSIX
 * locks on other files, so they survive when this handle is closed.
 */
export class LogSync {
  readonly #file: string
  readonly #sync: SyncFile
  #opened: Promise<FileHandle> | undefined
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #hasFailed = false

  constructor({ file, sync = syncData }: LogSyncOptions) {
    this.#file = file
    this.#sync = sync
  }

  /** After a failed sync the system may have dropped pages, so later successes prove nothing until the WAL restarts. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  get isBehind(): boolean {
    return this.#running !== undefined || this.#next !== undefined || this.#hasFailed
  }

  healed(): void {
    this.#hasFailed = false
  }

  /** Resolves when all commits so far are on disk. */
  afterCommit(): Promise<void> {
    // If two syncs ran at once, only one would get the error.
    if (this.#next !== undefined) return this.#next
    if (this.#running === undefined) return this.#start()
    this.#next = this.#running.then(
      () => this.#start(),
      () => this.#start(),
    )
    return this.#next
  }

  /** Resolves when everything that readers can see is on disk. */
  async synced(): Promise<void> {
    await (this.#next ?? this.#running)
    if (this.#hasFailed) throw new StoreError('SQLite: an earlier commit did not reach the disk')
  }

  async close(): Promise<void> {
    await this.synced().catch(() => undefined)
    await (await this.#opened?.catch(() => undefined))?.close()
  }

  async #open(): Promise<FileHandle> {
    try {
      return await openLasting(this.#file)
    } catch (error) {
      this.#opened = undefined
      throw error
    }
  }

  #start(): Promise<void> {
    this.#next = undefined
    const running = this.#run().finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }

  async #run(): Promise<void> {
    try {
      this.#opened ??= this.#open()
      await this.#sync((await this.#opened).fd)
    } catch (cause) {
      this.#hasFailed = true
      throw new StoreError('SQLite: a commit did not reach the disk; check the disk', { cause })
    }
    if (this.#hasFailed) throw new StoreError('SQLite: an earlier commit did not reach the disk')
  }
}

/** Also syncs the folder, so that the file's name survives power loss (POSIX). */
async function openLasting(file: string): Promise<FileHandle> {
  const opened = await open(file, 'r+')
  // Windows cannot sync folders.
  if (process.platform !== 'win32') {
    const folder = await open(dirname(file), 'r')
    await folder.sync().finally(() => folder.close())
  }
  return opened
}
