import { DAY_SECONDS, HOUR_SECONDS, startOfDay, startOfHour } from '#lib/time.ts'
import type { BlockClock, TimedBlock } from './block-clock.ts'
import type { LogColumns } from './columns/log-columns.ts'

const HEADERS_AT_ONCE = 200

/**
 * Logs that `exact` selects get their block's time; others any time of their UTC day, or of their hour
 * from `hoursFromUnix` on, which takes fewer headers.
 */
export async function dateLogs(
  clock: BlockClock,
  input: {
    readonly columns: LogColumns
    exact(index: number): boolean
    readonly hoursFromUnix: number
  },
): Promise<void> {
  const { columns } = input
  const { count, timestamp, blockNumber } = columns
  const undated: number[] = []
  for (let index = 0; index < count; index += 1) if (timestamp[index] === 0) undated.push(index)
  if (undated.length === 0) return
  const blocks = [...new Set(undated.filter(input.exact).map((index) => blockNumber[index] ?? 0))]
  const times = new Map<number, number>()
  for (let start = 0; start < blocks.length; start += HEADERS_AT_ONCE) {
    const some = blocks.slice(start, start + HEADERS_AT_ONCE)
    for (const block of await Promise.all(some.map((number) => clock.at(number))))
      times.set(block.number, block.timestamp)
  }
  const periods = await periodsOf(clock, {
    from: blockNumber[undated[0] ?? 0] ?? 0,
    to: blockNumber[undated.at(-1) ?? 0] ?? 0,
    hoursFromUnix: input.hoursFromUnix,
  })
  let at = 0
  for (const index of undated) {
    const number = blockNumber[index] ?? 0
    while (number >= (periods[at + 1]?.number ?? Number.POSITIVE_INFINITY)) at += 1
    timestamp[index] = times.get(number) ?? periods[at]?.timestamp ?? 0
  }
}

/** Returns the first blocks of days and, from `hoursFromUnix` on, of hours. */
async function periodsOf(
  clock: BlockClock,
  input: { readonly from: number; readonly to: number; readonly hoursFromUnix: number },
): Promise<readonly TimedBlock[]> {
  const { hoursFromUnix } = input
  const [first, last] = await Promise.all([clock.at(input.from), clock.at(input.to)])
  const periods: TimedBlock[] = [first]
  for (let period: TimedBlock = first; ; ) {
    const end = endOfPeriod(period.timestamp, hoursFromUnix)
    if (end > last.timestamp) return periods
    period = await clock.firstAtOrAfter(end, period, last)
    periods.push(period)
  }
}

function endOfPeriod(unix: number, hoursFromUnix: number): number {
  if (unix >= hoursFromUnix) return startOfHour(unix) + HOUR_SECONDS
  return Math.min(startOfDay(unix) + DAY_SECONDS, hoursFromUnix)
}
