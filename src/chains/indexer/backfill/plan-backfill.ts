import type { BlockClock, TimedBlock } from '#chains/chain/block-clock.ts'
import type { Position } from '#chains/chain/chain-event.ts'
import { DAY_SECONDS, startOfHour } from '#lib/time.ts'
import type { Backfill } from './backfill-row.ts'

/** The longest window is 30 days; two more cover the last price before it. */
const NEWEST_DAYS = 32

/** Counts the newest days from the last block read in ranges; the head may be replaced. */
export async function planBackfill(
  clock: BlockClock,
  range: { readonly startBlock: number; readonly to: number; readonly head: TimedBlock },
): Promise<Backfill> {
  const { startBlock, to, head } = range
  const first = await clock.at(startBlock)
  const newestOf = (last: TimedBlock) => clock.firstAtOrAfter(newestUnix(last), first, last)
  const guessed = newestOf({ number: to, timestamp: timeBetween(first, head, to) })
  const [last] = await Promise.all([clock.at(to), guessed.catch(() => undefined)])
  const { number, timestamp } = await newestOf(last)
  const read = beforeBlock(startBlock)
  return { newestFrom: { number, timestamp }, read, folded: read, datasets: null }
}

/** Only the newest days get hourly sums, as in a fresh register. */
export function planReindex(
  startBlock: number,
  position: Pick<Position, 'timestamp'>,
  datasets: readonly string[],
): Backfill {
  const read = beforeBlock(startBlock)
  const newestFrom = { number: startBlock, timestamp: newestUnix(position) }
  return { newestFrom, read, folded: read, datasets }
}

/** The position before the first block; no block has this hash. */
function beforeBlock(startBlock: number): Position {
  return { number: startBlock - 1, hash: '0x', timestamp: -1 }
}

/** Rounds to a full hour, so that no hour straddles `newestFrom`. */
function newestUnix(last: Pick<TimedBlock, 'timestamp'>): number {
  return startOfHour(last.timestamp - NEWEST_DAYS * DAY_SECONDS)
}

function timeBetween(first: TimedBlock, last: TimedBlock, number: number): number {
  const share = (number - first.number) / Math.max(1, last.number - first.number)
  return first.timestamp + Math.round((last.timestamp - first.timestamp) * share)
}
