import type { BlockClock, TimedBlock } from '#chain/block-clock.ts'
import { DAY_SECONDS, startOfHour } from '#lib/day.ts'
import type { Backfill } from './backfill-row.ts'

/**
 * The longest window that answers roll back from is 30 days. Two more bring the last price before
 * it, unless nothing was traded in them.
 */
const NEWEST_DAYS = 32

/**
 * Where the newest days of a chain begin, which are read before all that is older: counted from its
 * head, or from the last block that is read in ranges where that is older than all of them.
 */
export async function planFloor(
  clock: BlockClock,
  range: { readonly startBlock: number; readonly to: number; readonly head: TimedBlock },
): Promise<Backfill> {
  const first = await clock.at(range.startBlock)
  const before = (last: TimedBlock) => clock.firstAtOrAfter(newestFrom(last), first, last)
  const found = await before(range.head)
  const floor = found.number <= range.to ? found : await before(await clock.at(range.to))
  const { number, timestamp } = floor
  // Nothing is read yet: no block has this hash, and no block is older than this time.
  const read = { number: range.startBlock - 1, hash: '0x', timestamp: -1 } as const
  return { floor: { number, timestamp }, read, folded: read }
}

/** A full hour, so that no hour is partly above the floor and partly below. */
function newestFrom(last: TimedBlock): number {
  return startOfHour(last.timestamp - NEWEST_DAYS * DAY_SECONDS)
}
