import assert from 'node:assert/strict'
import type { BulkInsert } from '#db/engine.ts'
import type { Row, SqlValue } from '#db/sql.ts'
import { type Connection, StoreError } from '../engine.ts'
import type { PostgresConnection } from './postgres-connection.ts'

export async function transact<T>(
  connection: PostgresConnection,
  mode: string,
  work: (within: Connection) => Promise<T>,
): Promise<T> {
  await connection.command(`begin ${mode}`)
  const transaction = { isOpen: true }
  let value: T
  try {
    value = await work(connectionWithin(transaction, connection))
  } catch (error) {
    transaction.isOpen = false
    // If the connection is lost, the server rolls back.
    await connection.command('rollback').catch(() => connection.discard())
    throw error
  }
  transaction.isOpen = false
  const done = await connection.commit()
  if (done !== 'COMMIT') throw new StoreError('PostgreSQL: a statement failed, nothing was stored')
  return value
}

/** Refuses statements after the end, which would commit by themselves. */
function connectionWithin(
  transaction: { readonly isOpen: boolean },
  connection: PostgresConnection,
): Connection {
  const open = () => {
    assert(transaction.isOpen, 'a statement belongs to a transaction that is over')
    return connection
  }
  return {
    run: async (statement) => open().run(statement),
    insert: async (into, rows) =>
      insertInBulk({ runText: async (text, values) => open().runText(text, values) }, into, rows),
  }
}

/** Larger inserts save no time. */
const ROWS_PER_INSERT = 5_000

/** Sends one array per column, because thousands of parameters are slow to parse. */
async function insertInBulk(
  connection: Pick<PostgresConnection, 'runText'>,
  into: BulkInsert,
  rows: Iterable<readonly SqlValue[]>,
): Promise<readonly Row[]> {
  const { table, columns, constants = {}, conflict = '' } = into
  const names = Object.keys(columns)
  const holes = Object.values(columns).map((type, index) => `$${index + 1}::${type}[]`)
  const text = `insert into ${table} (${[...names, ...Object.keys(constants)].join(', ')})
    select ${['*', ...Object.values(constants)].join(', ')} from unnest(${holes.join(', ')}) ${conflict}`
  let lists: SqlValue[][] = names.map(() => [])
  let count = 0
  const found: Row[] = []
  const send = async () => {
    for (const row of await connection.runText(text, lists.map(toArrayText))) found.push(row)
  }
  for (const row of rows) {
    for (const [index, value] of row.entries()) lists[index]?.push(value)
    count += 1
    if (count % ROWS_PER_INSERT !== 0) continue
    await send()
    lists = names.map(() => [])
  }
  if (count % ROWS_PER_INSERT !== 0) await send()
  return found
}

/** PostgreSQL's text form of an array; only texts need quotes. */
function toArrayText(values: readonly SqlValue[]): string {
  const items = values.map((value) => {
    if (value === null) return 'NULL'
    return typeof value === 'string' ? `"${value.replace(/["\\]/g, '\\$&')}"` : String(value)
  })
  return `{${items.join(',')}}`
}
