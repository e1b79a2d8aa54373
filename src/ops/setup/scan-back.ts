import type { Clock } from '#base/time.ts'
import type { ChainSource, SourceLog } from '#chain/chain-source.ts'
import type { LogFilter } from '#chain/log-filter.ts'
import { walkLogs } from '#index/prove-prices.ts'

export interface Scan {
  readonly filter: LogFilter
  readonly from: number
  readonly to: number
  readonly enough: number
  readonly untilMs: number
}

const FIRST_BLOCKS = 2_000

/** Scans the newest blocks first; returns logs ascending, and how far back it came. */
export async function scanBack(
  { source, clock }: { readonly source: Pick<ChainSource, 'logsInRange'>; readonly clock: Clock },
  { enough, untilMs, ...scan }: Scan,
): Promise<{ readonly logs: readonly SourceLog[]; readonly from: number }> {
  const found: (readonly SourceLog[])[] = []
  let count = 0
  let from = scan.to + 1
  for await (const { logs, left } of walkLogs(source, {
    ...scan,
    blocks: FIRST_BLOCKS,
  })) {
    found.unshift(logs)
    count += logs.length
    from = left.to + 1
    if (count >= enough || clock() >= untilMs) break
  }
  return { logs: found.flat(), from }
}
