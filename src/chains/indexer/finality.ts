import type { Connection } from '#store/engine.ts'
import { oldestBlock } from './positions.ts'
import type { ChainStatus, IndexStatus } from './status.ts'

/** Final unless a chain is forgotten. */
export interface ChainFinality {
  readonly untilUnix: number
  readonly chains: readonly FinalChain[]
}

interface FinalChain extends Pick<ChainStatus, 'timesForgotten'> {
  readonly chainId: number
  /** The oldest stored block, below any reorg; -1 without one. */
  readonly anchor: number
}

/**
 * After the backfill, facts change only above the anchors. Dollar values may wait for every chain's
 * prices up to their moment.
 */
export async function readFinality(
  connection: Connection,
  status: IndexStatus,
): Promise<ChainFinality> {
  const chains: FinalChain[] = []
  let untilUnix = Number.POSITIVE_INFINITY
  for (const { chain, backfill, timesForgotten } of status.chains) {
    const oldest = await oldestBlock(connection, chain.id)
    const anchor = oldest?.number ?? -1
    // A reorg may reach the first block.
    const isFinal = backfill === null && anchor > chain.startBlock
    untilUnix = Math.min(untilUnix, isFinal ? (oldest?.timestamp ?? 0) : 0)
    chains.push({ chainId: chain.id, timesForgotten, anchor })
  }
  return { untilUnix, chains }
}

export function stillHolds(finality: ChainFinality, now: ChainFinality): boolean {
  // A state from before the backfill ended has the same anchors.
  if (now.untilUnix < finality.untilUnix) return false
  if (now.chains.length !== finality.chains.length) return false
  return now.chains.every(({ chainId, timesForgotten, anchor }, index) => {
    const before = finality.chains[index]
    const isSame = before?.chainId === chainId && before.timesForgotten === timesForgotten
    return isSame && anchor >= before.anchor
  })
}
