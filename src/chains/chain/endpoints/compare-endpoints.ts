import type { BlockHeader } from '#domain/chain.ts'
import type { Endpoint } from './endpoint.ts'

export interface Probe {
  readonly endpoint: Endpoint
  readonly head: BlockHeader
  readonly finalized: BlockHeader | undefined
}

/** More than the usual propagation delay. */
const LAG_BLOCKS_MAX = 50
const LAG_SECONDS_MAX = 30

const LAG_BLOCKS_MIN = 3

export function compareHeads(probes: readonly Probe[]): readonly Probe[] {
  const best = probes.reduce<Probe | undefined>(
    (first, each) => (first === undefined || each.head.number > first.head.number ? each : first),
    undefined,
  )
  if (best === undefined) return []
  return probes.filter(({ endpoint, head }) => {
    const blocks = best.head.number - head.number
    const seconds = best.head.timestamp - head.timestamp
    endpoint.health.lagBlocks = blocks
    const isNear = blocks < LAG_BLOCKS_MIN || seconds <= LAG_SECONDS_MAX
    if (isNear && blocks <= LAG_BLOCKS_MAX) return true
    const reason = `${blocks} blocks (${seconds} s) behind ${best.endpoint.host}`
    endpoint.health.setAside('lagging', reason)
    return false
  })
}

/** Returns endpoints on a minority branch. On a tie, the first in the list wins. */
export function findForked(
  blocks: readonly { readonly endpoint: Endpoint; readonly block: BlockHeader }[],
): ReadonlyMap<Endpoint, string> {
  const votes = Map.groupBy(blocks, ({ block }) => block.hash)
  const [right] = [...votes.values()].sort((a, b) => b.length - a.length)
  const chosen = right?.[0]
  if (chosen === undefined) return new Map()
  const { endpoint: by, block } = chosen
  return new Map(
    blocks
      .filter((each) => each.block.hash !== block.hash)
      .map((each) => [
        each.endpoint,
        `block ${block.number} is ${each.block.hash}, but ${block.hash} at ${by.host}`,
      ]),
  )
}
