import assert from 'node:assert/strict'
import { parentPort, workerData } from 'node:worker_threads'
import { free } from '#lib/free.ts'
import type { BulkInsert, Procedure, Row } from '../engine.ts'
import { memoryOf, type PackedRows } from '../packed-rows.ts'
import type { SqlValue } from '../sql.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import {
  type FromWriter,
  type ToWriter,
  toFailure,
  type WriterData,
  type WriterTask,
} from './writer-message.ts'

/** Runs statements in order, on this thread. */
export function serveWriter(procedures: readonly Procedure<unknown>[]): void {
  assert(parentPort !== null, 'writers are served on a worker thread')
  const port = parentPort
  const options: WriterData = workerData
  const writer = new Writer(new SqliteConnection(options), procedures)
  const answer = async ({ ticket, task }: ToWriter) => {
    const send = (message: FromWriter) => port.postMessage(message)
    try {
      send({ ticket, kind: 'done', rows: await writer.perform(task) })
    } catch (error) {
      send({ ticket, kind: 'failed', failure: toFailure(error) })
    }
    if (task.kind === 'close') port.close()
  }
  let last: Promise<void> = Promise.resolve()
  port.on('message', (message: ToWriter) => {
    last = last.then(() => answer(message))
  })
}

class Writer {
  readonly #connection: SqliteConnection
  readonly #inserts = new Map<number, BulkInsert>()
  readonly #procedures: ReadonlyMap<string, Procedure<unknown>>

  constructor(connection: SqliteConnection, procedures: readonly Procedure<unknown>[]) {
    this.#connection = connection
    this.#procedures = new Map(procedures.map((each) => [each.name, each]))
  }

  async perform(task: WriterTask): Promise<readonly Row[]> {
    switch (task.kind) {
      case 'run':
        return this.#connection.runText(task.text, task.values)
      case 'insert':
        if (task.into !== undefined) this.#inserts.set(task.number, task.into)
        return this.#insert(this.#knownInsert(task.number), task.rows)
      case 'call':
        await this.#connection.call(this.#procedure(task.name), task.input)
        return []
      case 'execute':
        await this.#connection.execute(task.text)
        return []
      case 'rollBack':
        await this.#connection.rollBack()
        return []
      case 'truncateLog':
        return [{ done: await this.#connection.truncateLog() }]
      case 'close':
        await this.#connection.close()
        return []
    }
  }

  /** Returns transferred memory. */
  async #insert(into: BulkInsert, rows: readonly SqlValue[] | PackedRows): Promise<readonly Row[]> {
    if (!('columns' in rows)) return this.#connection.insertValues(into, rows)
    const found = await this.#connection.insert(into, rows)
    for (const column of memoryOf(rows)) free(column)
    return found
  }

  #knownInsert(number: number): BulkInsert {
    const into = this.#inserts.get(number)
    assert(into !== undefined, 'rows for an insert that was never sent')
    return into
  }

  #procedure(name: string): Procedure<unknown> {
    const procedure = this.#procedures.get(name)
    assert(procedure !== undefined, `the thread that writes knows no procedure "${name}"`)
    return procedure
  }
}
