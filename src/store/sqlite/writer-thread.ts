import { Worker } from 'node:worker_threads'
import { type BulkInsert, type Procedure, type Row, StoreError } from '../engine.ts'
import { memoryOf, type PackedRows, type Rows, slicePacked } from '../packed-rows.ts'
import { type Sql, type SqlValue, toPlain } from '../sql.ts'
import { type ConnectionOptions, rowsInBatches, type SqliteWriter } from './sqlite-connection.ts'
import { type FromWriter, fromFailure, type WriterTask } from './writer-message.ts'

/** Amortizes messages, yet bounds memory. */
const ROWS_AT_ONCE = 512

/** Packed rows are transferred instead of copied, so that more go at once. */
const PACKED_ROWS_AT_ONCE = 4_096

/** One batch is stored while the next is made. */
const BATCHES_AHEAD = 4

interface PendingTask {
  resolve(rows: readonly Row[]): void
  reject(error: Error): void
}

/** Keeps the process alive only while statements are pending. */
export class WriterThread implements SqliteWriter {
  readonly #worker: Worker
  readonly #waiting = new Map<number, PendingTask>()
  readonly #numbers = new WeakMap<BulkInsert, number>()
  #ticket = 0
  #number = 0
  #ended: Error | undefined

  constructor(file: URL, options: ConnectionOptions) {
    this.#worker = new Worker(file, {
      workerData: options,
    })
    this.#worker.unref()
    this.#worker.on('message', (message: FromWriter) => this.#take(message))
    this.#worker.on('error', (error: Error) => this.#end(error))
    this.#worker.on('exit', () => this.#end(new Error('it ended')))
  }

  run(statement: Sql): Promise<readonly Row[]> {
    return this.#send({ kind: 'run', text: toPlain(statement), values: statement.values })
  }

  async insert(into: BulkInsert, rows: Rows): Promise<readonly Row[]> {
    const found: Row[] = []
    const ahead: Promise<readonly Row[]>[] = []
    const takeOne = async () => {
      for (const row of (await ahead.shift()) ?? []) found.push(row)
    }
    try {
      for (const batch of inBatches(rows)) {
        const task = { kind: 'insert', ...this.#numbered(into), rows: batch } as const
        const moved = 'columns' in batch ? memoryOf(batch).map(({ buffer }) => buffer) : []
        ahead.push(this.#send(task, moved))
        if (ahead.length >= BATCHES_AHEAD) await takeOne()
      }
      while (ahead.length > 0) await takeOne()
    } finally {
      // Batches in flight must end before a rollback.
      await Promise.allSettled(ahead)
    }
    return found
  }

  async call<Input>({ name }: Procedure<Input>, input: Input): Promise<void> {
    await this.#send({ kind: 'call', name, input })
  }

  async execute(text: string): Promise<void> {
    await this.#send({ kind: 'execute', text })
  }

  async rollBack(): Promise<void> {
    await this.#send({ kind: 'rollBack' })
  }

  async truncateLog(): Promise<boolean> {
    const [row] = await this.#send({ kind: 'truncateLog' })
    return row?.done === true
  }

  async close(): Promise<void> {
    if (this.#ended === undefined) await this.#send({ kind: 'close' })
  }

  #numbered(into: BulkInsert) {
    const known = this.#numbers.get(into)
    if (known !== undefined) return { number: known, into: undefined }
    this.#number += 1
    this.#numbers.set(into, this.#number)
    return { number: this.#number, into }
  }

  #send(task: WriterTask, moved: ArrayBuffer[] = []): Promise<readonly Row[]> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    this.#ticket += 1
    const { promise, resolve, reject } = Promise.withResolvers<readonly Row[]>()
    // First: throws for a task that cannot be cloned.
    this.#worker.postMessage({ ticket: this.#ticket, task }, moved)
    if (this.#waiting.size === 0) this.#worker.ref()
    this.#waiting.set(this.#ticket, { resolve, reject })
    return promise
  }

  #take(message: FromWriter): void {
    const waiting = this.#waiting.get(message.ticket)
    this.#waiting.delete(message.ticket)
    if (this.#waiting.size === 0) this.#worker.unref()
    if (message.kind === 'failed') waiting?.reject(fromFailure(message.failure))
    else waiting?.resolve(message.rows)
  }

  /** Pending statements' transaction ended with the connection. */
  #end(error: Error): void {
    this.#ended ??= new StoreError(`SQLite: the thread that writes: ${error.message}`, {
      cause: error,
    })
    for (const { reject } of this.#waiting.values()) reject(this.#ended)
    this.#waiting.clear()
  }
}

function* inBatches(rows: Rows): Iterable<readonly SqlValue[] | PackedRows> {
  if (!('columns' in rows)) return yield* rowsInBatches(rows, ROWS_AT_ONCE)
  for (let from = 0; from < rows.count; from += PACKED_ROWS_AT_ONCE)
    yield slicePacked(rows, from, from + PACKED_ROWS_AT_ONCE)
}
