import type { Position } from '#chains/chain/chain-event.ts'
import type { Connection } from '#store/engine.ts'
import { join, type Sql, sql } from '#store/sql.ts'
import { storedUpTo } from './positions.ts'
import type { ChainStatus, IndexStatus } from './status.ts'

export interface SnapshotBlock {
  readonly number: number
  readonly unix: number
}

/** The last block of each chain that counts, by chain id. Chains that are missing do not count. */
export type AsOfSnapshot = ReadonlyMap<number, SnapshotBlock>

export function withinSnapshot(snapshot: AsOfSnapshot): Sql {
  const chains = [...snapshot].map(
    ([chainId, { number }]) => sql`(chain_id = ${chainId} and block_number <= ${number})`,
  )
  return sql`(${join(chains, ' or ')})`
}

/** The status as if the index stood at the snapshot; at least one chain has a block. */
export function statusAt(status: IndexStatus, snapshot: AsOfSnapshot): IndexStatus {
  const chains = status.chains.flatMap((each): ChainStatus[] => {
    const block = snapshot.get(each.chain.id)
    if (block === undefined) return []
    return [{ ...each, blockNumber: block.number, blockTimeUnix: block.unix }]
  })
  return { ...status, chains, asOfUnix: Math.max(...chains.map((each) => each.blockTimeUnix)) }
}

/** Undefined before the first final block. */
export function finalBlock(
  connection: Connection,
  { chain, finalizedNumber }: ChainStatus,
): Promise<Position | undefined> {
  return storedUpTo(connection, chain.id, { number: finalizedNumber })
}

/** Undefined before the first final block of any chain. */
export async function finalSnapshot(
  connection: Connection,
  status: IndexStatus,
): Promise<AsOfSnapshot | undefined> {
  const snapshot = new Map<number, SnapshotBlock>()
  for (const each of status.chains) {
    const block = await finalBlock(connection, each)
    if (block !== undefined)
      snapshot.set(each.chain.id, { number: block.number, unix: block.timestamp })
  }
  return snapshot.size === 0 ? undefined : snapshot
}
