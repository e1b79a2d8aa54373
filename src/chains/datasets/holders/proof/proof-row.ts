import type { Connection, Migration, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

export const proofsMigration: Migration = {
  id: 2110,
  name: 'proofs of sums',
  sql: `
    create table proofs (
      chain_id bigint primary key,
      block_number bigint not null,
      proven_at_unix bigint not null,
      verdict text not null,
      checked bigint not null,
      detail text
    )`,
}

export interface Proof {
  readonly chainId: number
  /** A final block. */
  readonly blockNumber: number
  readonly provenAtUnix: number
  /** `unproven`: the contracts could not be read. */
  readonly verdict: 'agrees' | 'differs' | 'unproven'
  readonly checked: number
  /** What differs, or why the proof failed. */
  readonly detail: string | null
}

export async function storeProof(connection: Connection, proof: Proof): Promise<void> {
  const { chainId, blockNumber, provenAtUnix, verdict, checked, detail } = proof
  await connection.run(sql`
    insert into proofs (chain_id, block_number, proven_at_unix, verdict, checked, detail)
    values (${chainId}, ${blockNumber}, ${provenAtUnix}, ${verdict}, ${checked}, ${detail})
    on conflict (chain_id) do update set
      block_number = excluded.block_number, proven_at_unix = excluded.proven_at_unix,
      verdict = excluded.verdict, checked = excluded.checked, detail = excluded.detail`)
}

/** The next proof is due once the history is complete. */
export async function voidProof(connection: Connection, chainId: number): Promise<void> {
  await connection.run(sql`
    update proofs set verdict = 'unproven', proven_at_unix = 0, checked = 0,
      detail = 'balances are read again'
    where chain_id = ${chainId}`)
}

export async function readProofs(connection: Connection): Promise<ReadonlyMap<number, Proof>> {
  const found = await connection.run(sql`
    select chain_id, block_number, proven_at_unix, verdict, checked, detail from proofs`)
  return new Map(found.map((row) => [column.integer(row, 'chain_id'), toProof(row)]))
}

function toProof(row: Row): Proof {
  const verdict = column.text(row, 'verdict')
  return {
    chainId: column.integer(row, 'chain_id'),
    blockNumber: column.integer(row, 'block_number'),
    provenAtUnix: column.integer(row, 'proven_at_unix'),
    verdict: verdict === 'agrees' || verdict === 'differs' ? verdict : 'unproven',
    checked: column.integer(row, 'checked'),
    detail: column.textOrNull(row, 'detail'),
  }
}
