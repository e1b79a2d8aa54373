import type { ChainSource } from '#chains/chain/chain-source.ts'
import type { LogFilter } from '#chains/chain/log-filter.ts'
import { REQUESTS_MAX } from '#chains/indexer/find-reading.ts'
import { walkLogs } from '#chains/indexer/walk-logs.ts'

/** The block of the first log; null if there is none up to `to`, the last block searched. */
export interface FirstLog {
  readonly block: number | null
  readonly to: number
}

/** Few enough for a small answer from the busiest contract. */
const FIRST_BLOCKS = 100

/** Reads history forward, with at most `REQUESTS_MAX` requests. */
export async function findFirstLog(
  source: Pick<ChainSource, 'logsInRange'>,
  range: { readonly filter: LogFilter; readonly from: number; readonly to: number },
): Promise<FirstLog> {
  let requests = 0
  let to = range.from - 1
  const walk = walkLogs(source, { ...range, newestFirst: false, blocks: FIRST_BLOCKS })
  for await (const { logs, left } of walk) {
    requests += 1
    to = left.from - 1
    const [first] = logs
    if (first !== undefined) return { block: first.blockNumber, to }
    if (requests === REQUESTS_MAX) break
  }
  return { block: null, to }
}
