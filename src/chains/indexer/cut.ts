import type { Position } from '#chains/chain/chain-event.ts'
import type { Connection } from '#store/engine.ts'
import { join, type Sql, sql } from '#store/sql.ts'
import { storedUpTo } from './positions.ts'
import type { ChainStatus, IndexStatus } from './status.ts'

export interface CutBlock {
  readonly number: number
  readonly unix: number
}

/** The last block of each chain that counts, by chain id. Chains that are missing do not count. */
export type Cut = ReadonlyMap<number, CutBlock>

export function withinCut(cut: Cut): Sql {
  const chains = [...cut].map(
    ([chainId, { number }]) => sql`(chain_id = ${chainId} and block_number <= ${number})`,
  )
  return sql`(${join(chains, ' or ')})`
}

/** The status as if the index stood at the cut; at least one chain has a block. */
export function statusAt(status: IndexStatus, cut: Cut): IndexStatus {
  const chains = status.chains.flatMap((each): ChainStatus[] => {
    const block = cut.get(each.chain.id)
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
export async function finalCut(
  connection: Connection,
  status: IndexStatus,
): Promise<Cut | undefined> {
  const cut = new Map<number, CutBlock>()
  for (const each of status.chains) {
    const block = await finalBlock(connection, each)
    if (block !== undefined) cut.set(each.chain.id, { number: block.number, unix: block.timestamp })
  }
  return cut.size === 0 ? undefined : cut
}
