import assert from 'node:assert/strict'
import { type Connection, StoreError } from '../engine.ts'
import { insertInBulk } from './bulk-insert.ts'
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
    // The server rolls back lost connections.
    await connection.command('rollback').catch(() => connection.discard())
    throw error
  }
  transaction.isOpen = false
  const done = await connection.commit()
  if (done !== 'COMMIT') throw new StoreError('PostgreSQL: a statement failed, nothing was stored')
  return value
}

/** A statement after the end would commit by itself, so it is refused. */
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
