import type { Connection } from '#store/engine.ts'
import { column, type Sql, sql } from '#store/sql.ts'
import { noteForgotten } from './chain-notes.ts'
import { COMPARED_TABLES } from './compare-registers.ts'
import { resetAll } from './feed/write-feed.ts'

/** Empties the register: every chain is then read again from its start. Call it without a timeout. */
export async function forgetAll(connection: Connection, nowUnix: number): Promise<void> {
  const followed = await connection.run(sql`select chain_id from positions`)
  for (const table of [...COMPARED_TABLES, ...PROGRESS]) {
    const name: Sql = { kind: 'sql', parts: [table], values: [] }
    await connection.run(sql`delete from ${name}`)
  }
  for (const row of followed) await noteForgotten(connection, column.integer(row, 'chain_id'))
  await resetAll(connection, nowUnix)
}

const PROGRESS = ['unknown_figures', 'found_contracts', 'factories', 'blocks', 'positions']
