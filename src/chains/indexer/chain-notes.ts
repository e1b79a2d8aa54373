import type { Connection, Tables } from '#store/engine.ts'
import { column, sql } from '#store/sql.ts'

/**
 * What outlives a chain's position: how often rows of it were removed (so that older cached answers are not
 * reused), and why its head or its history stalls.
 */
export const chainNotesTables: Tables = `
    create table chain_notes (
      chain_id bigint primary key,
      removals bigint not null default 0,
      head_stall text,
      head_stall_detail text,
      history_stall text,
      history_stall_detail text
    )`

/** Chains of which rows were removed. */
export async function readForgotten(connection: Connection): Promise<ReadonlySet<number>> {
  const found = await connection.run(sql`select chain_id from chain_notes where removals > 0`)
  return new Set(found.map((row) => column.integer(row, 'chain_id')))
}

/** Call it in the transaction that removes rows of the chain. */
export async function noteForgotten(connection: Connection, chainId: number): Promise<void> {
  await connection.run(sql`
    insert into chain_notes (chain_id, removals) values (${chainId}, 1)
    on conflict (chain_id) do update set removals = chain_notes.removals + 1`)
}
