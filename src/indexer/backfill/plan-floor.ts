import type { BlockClock, TimedBlock } from '#chain/block-clock.ts'
import { DAY_SECONDS, startOfHour } from '#lib/day.ts'
import type { Backfill } from './backfill-row.ts'

/**
 * The longest window that answers roll back from is 30 days. Two more bring the last price before
 * it, unless nothing was traded in them.
 */
const NEWEST_DAYS = 32

/**
 * Where the newest days of a chain begin, which are read before all that is older. They are counted from
 * the last block that is read in ranges: it is final, where a head may be replaced by an older one.
 */
export async function planFloor(
  clock: BlockClock,
  range: { readonly startBlock: number; readonly to: number; readonly head: TimedBlock },
): Promise<Backfill> {
  const { startBlock, to, head } = range
  const first = await clock.at(startBlock)
  const newestOf = (last: TimedBlock) => clock.firstAtOrAfter(newestFrom(last), first, last)
  // The time of the last block is guessed meanwhile, so that the headers around the floor are at hand.
  const guessed = newestOf({ number: to, timestamp: timeBetween(first, head, to) })
  const [last] = await Promise.all([clock.at(to), guessed.catch(() => undefined)])
  const { number, timestamp } = await newestOf(last)
  // Nothing is read yet: no block has this hash, and no block is older than this time.
  const read = { number: startBlock - 1, hash: '0x', timestamp: -1 } as const
  return { floor: { number, timestamp }, read, folded: read }
}

/** A full hour, so that no hour is partly above the floor and partly below. */
function newestFrom(last: TimedBlock): number {
  return startOfHour(last.timestamp - NEWEST_DAYS * DAY_SECONDS)
}

/** When a block between two others would have come at an even pace. */
function timeBetween(first: TimedBlock, last: TimedBlock, number: number): number {
  const share = (number - first.number) / Math.max(1, last.number - first.number)
  return first.timestamp + Math.round((last.timestamp - first.timestamp) * share)
}
