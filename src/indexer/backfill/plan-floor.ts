import type { BlockClock, TimedBlock } from '#chain/block-clock.ts'
import type { Position } from '#chain/chain-event.ts'
import { DAY_SECONDS, startOfHour } from '#lib/time.ts'
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
  const read = beforeBlock(startBlock)
  return { floor: { number, timestamp }, read, folded: read, datasets: null }
}

/**
 * The plan for datasets that are read again from the first block on. As in a fresh register, only the
 * newest days get hourly sums.
 */
export function planReread(
  startBlock: number,
  position: Pick<Position, 'timestamp'>,
  datasets: readonly string[],
): Backfill {
  const read = beforeBlock(startBlock)
  const floor = { number: startBlock, timestamp: newestFrom(position) }
  return { floor, read, folded: read, datasets }
}

/** The position before anything is read: a hash no block has, and a time before all blocks. */
function beforeBlock(startBlock: number): Position {
  return { number: startBlock - 1, hash: '0x', timestamp: -1 }
}

/** A full hour, so that no hour is partly above the floor and partly below. */
function newestFrom(last: Pick<TimedBlock, 'timestamp'>): number {
  return startOfHour(last.timestamp - NEWEST_DAYS * DAY_SECONDS)
}

/** When a block between two others would have come at an even pace. */
function timeBetween(first: TimedBlock, last: TimedBlock, number: number): number {
  const share = (number - first.number) / Math.max(1, last.number - first.number)
  return first.timestamp + Math.round((last.timestamp - first.timestamp) * share)
}
