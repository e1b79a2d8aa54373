import type { ChainSource, SourceLog } from '#chains/chain/chain-source.ts'
import type { LogFilter } from '#chains/chain/log-filter.ts'
import { EndpointError } from '#chains/chain/rpc-error.ts'

export interface Walk {
  readonly filter: LogFilter
  readonly from: number
  readonly to: number
  /** The size of the first request. */
  readonly blocks: number
}

/** The result of one request. */
interface WalkStep {
  /** Ascending; empty if the node refused the range. */
  readonly logs: readonly SourceLog[]
  /** The blocks not read yet, both ends included. */
  readonly left: { readonly from: number; readonly to: number }
}

/** Reads the newest blocks first. Ranges grow, and shrink to what the node accepts. */
export async function* walkLogs(
  source: Pick<ChainSource, 'logsInRange'>,
  { filter, blocks, ...whole }: Walk,
): AsyncGenerator<WalkStep> {
  let left = { from: whole.from, to: whole.to }
  let size = blocks
  let sizeMax = Number.POSITIVE_INFINITY
  while (left.from <= left.to) {
    const { to } = left
    const from = Math.max(left.from, to - size + 1)
    const logs = await source.logsInRange(filter, from, to).catch((error: unknown) => {
      if (!(error instanceof EndpointError) || from === to) throw error
      if (!REFUSALS.has(error.kind)) throw error
      sizeMax = Math.max(1, Math.min(error.blocksMax ?? size, Math.floor((to - from + 1) / 4)))
      return undefined
    })
    if (logs !== undefined) left = { ...left, to: from - 1 }
    size = logs === undefined ? sizeMax : Math.min(sizeMax, size * 4)
    yield { logs: logs ?? [], left }
  }
}

/** A range may be refused in words that no rule knows. */
const REFUSALS = new Set<string>(['too-large', 'refused', 'timeout'])
