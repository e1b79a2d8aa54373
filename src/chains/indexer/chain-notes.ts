import type { Connection, Tables } from '#store/engine.ts'
import { column, sql } from '#store/sql.ts'
import { type StallReason, toStallReason } from './status.ts'

/**
 * What outlives a chain's position: how often rows of it were removed (so that older cached answers are not
 * reused), and why it stalls.
 */
export const chainNotesTables: Tables = `
    create table chain_notes (
      chain_id bigint primary key,
      removals bigint not null default 0,
      stall text,
      stall_detail text
    )`

export interface Stall {
  readonly reason: StallReason
  /** Names hosts; for the operator. */
  readonly detail: string
}

export async function readStalls(reads: Connection): Promise<ReadonlyMap<number, Stall>> {
  const found = await reads.run(sql`
    select chain_id, stall, stall_detail from chain_notes where stall is not null`)
  return new Map(
    found.map((row) => [
      column.integer(row, 'chain_id'),
      {
        reason: toStallReason(row.stall) ?? 'unusable_data',
        detail: column.text(row, 'stall_detail'),
      },
    ]),
  )
}

/** Whether the store refused what was read, or reading it failed. */
export function isUnusable(stall: Stall | undefined): boolean {
  return stall?.reason === 'unusable_data'
}

/** Call it in the transaction that removes rows of the chain. */
export async function noteForgotten(connection: Connection, chainId: number): Promise<void> {
  await connection.run(sql`
    insert into chain_notes (chain_id, removals) values (${chainId}, 1)
    on conflict (chain_id) do update set removals = chain_notes.removals + 1,
      stall = null, stall_detail = null`)
}
