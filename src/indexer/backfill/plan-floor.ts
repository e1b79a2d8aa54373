import type { BlockClock } from '#chain/block-clock.ts'
import { DAY_SECONDS, startOfHour } from '#lib/day.ts'
import type { Backfill } from './backfill-row.ts'

/**
 * The longest window that answers roll back from is 30 days. Two more bring the last price before
 * it, unless nothing was traded in them.
 */
const NEWEST_DAYS = 32

/** Where the newest days of a chain begin, which are read before all that is older. */
export async function planFloor(
  clock: BlockClock,
  range: { readonly startBlock: number; readonly to: number },
): Promise<Backfill> {
  const [first, last] = await Promise.all([clock.at(range.startBlock), clock.at(range.to)])
  // A full hour, so that no hour is partly above the floor and partly below.
  const unix = startOfHour(last.timestamp - NEWEST_DAYS * DAY_SECONDS)
  const floor = await clock.firstAtOrAfter(unix, first, last)
  const { number, timestamp } = floor
  // Nothing is read yet: no block has this hash, and no block is older than this time.
  const read = { number: range.startBlock - 1, hash: '0x', timestamp: -1 } as const
  return { floor: { number, timestamp }, read, folded: read }
}
