import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { LRUCache } from 'lru-cache'
import {
  type BulkInsert,
  type Connection,
  ConstraintError,
  type Row,
  StoreError,
} from '../engine.ts'
import { type PackedRows, type Rows, slicePacked } from '../packed-rows.ts'
import { type Sql, type SqlValue, toPlain } from '../sql.ts'
import { packedInsert } from './packed-insert.ts'

export interface ConnectionOptions {
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

/** 128 and 2 MB of log per checkpoint. Small commits checkpoint on the answering thread. */
const PAGES = {
  bulk: { bytes: 8_192, perCheckpoint: 16_000 },
  small: { bytes: 1_024, perCheckpoint: 2_000 },
} as const

/** Guards against a mistake. */
const STATEMENTS_MAX = 1_000

/** Extended codes share the low byte. */
const SQLITE_BUSY = 5
const SQLITE_CONSTRAINT = 19

/** Remainders are halved, so that only six texts are prepared. */
const ROWS_AT_ONCE = 32

/** Bounds the text in memory. */
const PACKED_ROWS_AT_ONCE = 4_096

export class SqliteConnection implements Connection {
  readonly #database: DatabaseSync
  readonly #inserts = new WeakMap<BulkInsert, Map<number, string>>()
  readonly #statements = new LRUCache<string, Prepared>({ max: STATEMENTS_MAX })
  #isCutShort = false

  constructor(options: ConnectionOptions) {
    this.#database = new DatabaseSync(options.file, { timeout: BUSY_TIMEOUT_MS })
    const pages = options.bulk === true ? PAGES.bulk : PAGES.small
    const pragmas = [
      `page_size = ${pages.bytes}`,
      'journal_mode = wal',
      // At checkpoints only; `LogSync` syncs commits where needed.
      'synchronous = normal',
      'foreign_keys = on',
      `cache_size = -${options.cacheKib}`,
      `wal_autocheckpoint = ${pages.perCheckpoint}`,
    ]
    const set = (pragma: string) => this.#database.exec(`pragma ${pragma}`)
    try {
      for (const pragma of pragmas) this.#untilFree(() => set(pragma))
    } catch (error) {
      // Its locks would keep others out until the garbage is collected.
      this.#database.close()
      throw error
    }
  }

  /** SQLite refuses all but one of processes that create a file together, without waiting. */
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
    return this.#guard(() => rowsOf(this.#prepare(text), values))
  }

  async insert(into: BulkInsert, rows: Rows): Promise<readonly Row[]> {
    if ('columns' in rows) return this.#insertPacked(into, rows)
    const found: Row[] = []
    for (const values of rowsInBatches(rows, ROWS_AT_ONCE))
      for (const row of this.insertValues(into, values)) found.push(row)
    return found
  }

  #insertPacked(into: BulkInsert, rows: PackedRows): readonly Row[] {
    const found: Row[] = []
    for (let from = 0; from < rows.count; from += PACKED_ROWS_AT_ONCE) {
      const part = slicePacked(rows, from, from + PACKED_ROWS_AT_ONCE)
      const { text, values } = packedInsert(into, part)
      for (const row of this.#guard(() => rowsOf(this.#prepare(text), values))) found.push(row)
    }
    return found
  }

  insertValues(into: BulkInsert, values: readonly SqlValue[]): readonly Row[] {
    const width = Object.keys(into.columns).length
    return this.#guard(() => {
      const found: Row[] = []
      let from = 0
      for (let size = ROWS_AT_ONCE; size >= 1; size /= 2)
        for (; values.length - from >= size * width; from += size * width) {
          const some = values.slice(from, from + size * width)
          for (const row of rowsOf(this.#prepareInsert(into, size), some)) found.push(row)
        }
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

  /** False while a reader holds an older state. */
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

  #prepareInsert(into: BulkInsert, size: number): Prepared {
    const bySize = this.#inserts.get(into) ?? new Map<number, string>()
    this.#inserts.set(into, bySize)
    const text = bySize.get(size) ?? insertText(into, size)
    bySize.set(size, text)
    return this.#prepare(text)
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

  /**
   * SQLite may roll back by itself after an I/O or memory error; later statements would commit
   * alone.
   */
  #guard<T>(work: () => T): T {
    if (this.#isCutShort) throw new StoreError('SQLite: the transaction was taken back already')
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

export function* rowsInBatches(
  rows: Iterable<readonly SqlValue[]>,
  size: number,
): Iterable<SqlValue[]> {
  let values: SqlValue[] = []
  let count = 0
  for (const row of rows) {
    for (const value of row) values.push(value)
    count += 1
    if (count < size) continue
    yield values
    values = []
    count = 0
  }
  if (count > 0) yield values
}

interface Prepared {
  readonly statement: StatementSync
  readonly names: readonly string[]
}

/** V8's interned copy; others are looked up at each use. */
function asKey(name: string): string {
  return Object.keys({ [name]: true })[0] ?? name
}

/** Node's rows are slow dictionary-mode objects. */
function rowsOf({ statement, names }: Prepared, values: readonly SQLInputValue[]): Row[] {
  const found: unknown[] = statement.all(...values)
  return found.map((list) => {
    const row: Record<string, unknown> = {}
    if (Array.isArray(list))
      for (let index = 0; index < names.length; index += 1) row[names[index] ?? ''] = list[index]
    return row
  })
}

function insertText(into: BulkInsert, count: number): string {
  const { table, columns, constants = {}, conflict = '' } = into
  const names = Object.keys({ ...columns, ...constants })
  const row = [...Object.keys(columns).map(() => '?'), ...Object.values(constants)].join(', ')
  const values = Array.from({ length: count }, () => `(${row})`).join(', ')
  return `insert into ${table} (${names.join(', ')}) values ${values} ${conflict}`
}

function toStoreError(error: unknown): StoreError {
  const message = error instanceof Error ? error.message : String(error)
  const Kind = codeOf(error) === SQLITE_CONSTRAINT ? ConstraintError : StoreError
  return new Kind(`SQLite: ${message}`, { cause: error })
}

/** Thrown when another connection held a lock for longer than the time limit. */
export function isBusy(error: unknown): boolean {
  return error instanceof StoreError && codeOf(error.cause) === SQLITE_BUSY
}

function codeOf(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
}
