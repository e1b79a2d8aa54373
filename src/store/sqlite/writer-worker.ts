import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '#lib/assert.ts'
import { free } from '#lib/free.ts'
import type { BulkInsert, Row } from '../engine.ts'
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

/** The thread that writes: answers each `ToWriter` by a `FromWriter`, in order. */
assert(parentPort !== null, 'this file runs as a worker thread')
const port = parentPort
const options: WriterData = workerData
const connection = new SqliteConnection(options)
const inserts = new Map<number, BulkInsert>()

/** One after the other, also where a task waits between its steps. */
let last: Promise<void> = Promise.resolve()
port.on('message', (message: ToWriter) => {
  last = last.then(() => answer(message))
})

async function answer({ ticket, task }: ToWriter): Promise<void> {
  try {
    tell({ ticket, kind: 'done', rows: await perform(task) })
  } catch (error) {
    tell({ ticket, kind: 'failed', failure: toFailure(error) })
  }
  if (task.kind === 'close') port.close()
}

async function perform(task: WriterTask): Promise<readonly Row[]> {
  switch (task.kind) {
    case 'run':
      return connection.runText(task.text, task.values)
    case 'insert':
      if (task.into !== undefined) inserts.set(task.number, task.into)
      return insert(knownInsert(task.number), task.rows)
    case 'execute':
      await connection.execute(task.text)
      return []
    case 'rollBack':
      await connection.rollBack()
      return []
    case 'truncateLog':
      return [{ done: await connection.truncateLog() }]
    case 'close':
      await connection.close()
      return []
  }
}

/** Packed rows came with their memory, which is given back. */
async function insert(
  into: BulkInsert,
  rows: readonly SqlValue[] | PackedRows,
): Promise<readonly Row[]> {
  if (!('columns' in rows)) return connection.insertValues(into, rows)
  const found = await connection.insert(into, rows)
  for (const column of memoryOf(rows)) free(column)
  return found
}

function knownInsert(number: number): BulkInsert {
  const into = inserts.get(number)
  assert(into !== undefined, 'rows for a table that was never told of')
  return into
}

function tell(message: FromWriter): void {
  port.postMessage(message)
}
