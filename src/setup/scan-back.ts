import type { ChainSource, SourceLog } from '#chain/chain-source.ts'
import { EndpointError } from '#chain/endpoints/endpoint-error.ts'
import type { LogFilter } from '#chain/log-filter.ts'
import type { Clock } from '#lib/time.ts'

export interface Scan {
  readonly filter: LogFilter
  readonly from: number
  readonly to: number
  readonly enough: number
  readonly untilMs: number
}

/** Ascending. `from` is how far back the scan came. */
export interface Scanned {
  readonly logs: readonly SourceLog[]
  readonly from: number
}

const FIRST_BLOCKS = 2_000

/** Newest blocks first. Ranges grow, and shrink to what the node accepts. */
export async function scanBack(
  { source, clock }: { readonly source: Pick<ChainSource, 'logsInRange'>; readonly clock: Clock },
  scan: Scan,
): Promise<Scanned> {
  const found: (readonly SourceLog[])[] = []
  let count = 0
  let to = scan.to
  let size = FIRST_BLOCKS
  let sizeMax = Number.POSITIVE_INFINITY
  while (to >= scan.from && count < scan.enough && clock() < scan.untilMs) {
    const from = Math.max(scan.from, to - size + 1)
    const logs = await source.logsInRange(scan.filter, from, to).catch((error: unknown) => {
      if (!(error instanceof EndpointError) || from === to) throw error
      if (!REFUSALS.has(error.kind)) throw error
      sizeMax = Math.max(1, Math.min(error.blocksMax ?? size, Math.floor((to - from + 1) / 4)))
      return undefined
    })
    if (logs === undefined) {
      size = sizeMax
      continue
    }
    found.unshift(logs)
    count += logs.length
    to = from - 1
    size = Math.min(sizeMax, size * 4)
  }
  return { logs: found.flat(), from: to + 1 }
}

/** A range may be refused in words that no rule knows. */
const REFUSALS = new Set<string>(['too-large', 'refused', 'timeout'])
