import { DAY_SECONDS, startOfDay } from '#lib/time.ts'
import type { BlockClock, TimedBlock } from './block-clock.ts'
import type { LogColumns } from './columns/log-columns.ts'

const HEADERS_AT_ONCE = 200

/**
 * Logs that `exact` selects get their block's time, others any time of their UTC day, which takes
 * fewer headers.
 */
export async function dateLogs(
  clock: BlockClock,
  input: {
    readonly columns: LogColumns
    exact(index: number): boolean
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
  const days = await daysOf(
    clock,
    blockNumber[undated[0] ?? 0] ?? 0,
    blockNumber[undated.at(-1) ?? 0] ?? 0,
  )
  let day = 0
  for (const index of undated) {
    const number = blockNumber[index] ?? 0
    while (number >= (days[day + 1]?.number ?? Number.POSITIVE_INFINITY)) day += 1
    timestamp[index] = times.get(number) ?? days[day]?.timestamp ?? 0
  }
}

async function daysOf(clock: BlockClock, from: number, to: number): Promise<readonly TimedBlock[]> {
  const [first, last] = await Promise.all([clock.at(from), clock.at(to)])
  const days: TimedBlock[] = [first]
  let day: TimedBlock = first
  while (startOfDay(day.timestamp) < startOfDay(last.timestamp)) {
    day = await clock.firstAtOrAfter(startOfDay(day.timestamp) + DAY_SECONDS, day, last)
    days.push(day)
  }
  return days
}
