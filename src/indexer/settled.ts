import type { Connection } from '#store/engine.ts'
import { oldestBlock } from './positions.ts'
import type { ChainStatus, IndexStatus } from './status.ts'

/** What the register can no longer change its mind about, unless it forgets a chain. */
export interface Settled {
  /** Facts and dollar values of earlier moments (Unix seconds) stay as they are; 0 for none. */
  readonly untilUnix: number
  readonly chains: readonly SettledChain[]
}

interface SettledChain extends Pick<ChainStatus, 'timesForgotten'> {
  readonly chainId: number
  /** The oldest block that is remembered: no reorg goes below it; -1 without any. */
  readonly anchor: number
}

/**
 * Facts come from blocks above the anchors only, once no older history is missing. Dollar values wait
 * for the prices of all chains up to their moment, and prices change from a new block's moment on.
 */
export async function readSettled(connection: Connection, status: IndexStatus): Promise<Settled> {
  const chains: SettledChain[] = []
  let untilUnix = Number.POSITIVE_INFINITY
  for (const { chain, backfill, timesForgotten } of status.chains) {
    const oldest = await oldestBlock(connection, chain.id)
    const anchor = oldest?.number ?? -1
    // Down to a chain's first block a reorg may take back all.
    const isSettled = backfill === null && anchor > chain.startBlock
    untilUnix = Math.min(untilUnix, isSettled ? (oldest?.timestamp ?? 0) : 0)
    chains.push({ chainId: chain.id, timesForgotten, anchor })
  }
  return { untilUnix, chains }
}

/** Whether one state of the register holds all that was settled in another. */
export function stillHolds(settled: Settled, now: Settled): boolean {
  // A state of before older history was complete has settled nothing, with the same anchors.
  if (now.untilUnix < settled.untilUnix) return false
  if (now.chains.length !== settled.chains.length) return false
  return now.chains.every(({ chainId, timesForgotten, anchor }, index) => {
    const before = settled.chains[index]
    const isSame = before?.chainId === chainId && before.timesForgotten === timesForgotten
    return isSame && anchor >= before.anchor
  })
}
