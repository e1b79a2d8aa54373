import type { BlockIndex } from './block-index.ts'
import { wantedKinds } from './event-kinds.ts'
import type { SyntheticChain } from './synthetic-chain.ts'

/** First and last block. */
export type BlockRange = readonly [from: number, to: number]

/** What a raw client asks for; it knows beforehand where the logs are. */
export interface RawPlan {
  readonly filter: { readonly address: readonly string[]; readonly topics: readonly string[][] }
  readonly ranges: readonly BlockRange[]
}

interface Most {
  readonly logs: number | undefined
  readonly blocks: number | undefined
}

/** The one filter of the ecosystem over the whole chain, in ranges of at most so much. */
export function rawPlan({ blocks }: SyntheticChain, most: Most): RawPlan {
  const address = [...new Set(wantedKinds.map((kind) => kind.address))]
  const topics = [[...new Set(wantedKinds.map((kind) => kind.topic0))]]
  return { filter: { address, topics }, ranges: planRanges(blocks, most) }
}

/** Cuts the whole chain into ranges of at most so many logs and blocks, as if they were known. */
function planRanges(chain: BlockIndex, most: Most): readonly BlockRange[] {
  const logsMax = most.logs ?? Number.POSITIVE_INFINITY
  const blocksMax = most.blocks ?? Number.POSITIVE_INFINITY
  const ranges: BlockRange[] = []
  let from = 0
  for (let block = 1; block <= chain.head + 1; block += 1) {
    const isFull =
      block - from >= blocksMax || chain.firstLog(block + 1) - chain.firstLog(from) > logsMax
    if (!isFull && block <= chain.head) continue
    ranges.push([from, block - 1])
    from = block
  }
  return ranges
}
