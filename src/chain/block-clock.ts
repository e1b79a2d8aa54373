import { LRUCache } from 'lru-cache'
import type { BlockHeader } from '#base/chain.ts'
import { DAY_SECONDS, HOUR_SECONDS, startOfDay, startOfHour } from '#base/time.ts'
import type { Position } from './chain-event.ts'
import type { ChainSource } from './chain-source.ts'
import type { LogColumns } from './columns/log-columns.ts'
import { RpcError } from './rpc-error.ts'

const HEADERS_MAX = 5_000

const STEPS_MAX = 120

type TimedBlock = Pick<BlockHeader, 'number' | 'timestamp'>

export class BlockClock {
  readonly #source: Pick<ChainSource, 'header'>
  readonly #known = new LRUCache<number, Position>({ max: HEADERS_MAX })

  constructor(source: Pick<ChainSource, 'header'>) {
    this.#source = source
  }

  async at(number: number): Promise<Position> {
    const known = this.#known.get(number)
    if (known !== undefined) return known
    const header = await this.#source.header(number)
    if (header === undefined) throw new RpcError(`the node does not know block ${number}`)
    const block = { number, hash: header.hash, timestamp: header.timestamp }
    this.#known.set(number, block)
    return block
  }

  /** Interpolates, because blocks come evenly, and bisects every third step. */
  async firstAtOrAfter(unix: number, from: TimedBlock, to: TimedBlock): Promise<TimedBlock> {
    if (from.timestamp >= unix) return from
    let low = from
    let high = to
    for (let step = 0; high.number - low.number > 1; step += 1) {
      if (step > STEPS_MAX) throw this.#inconsistent('the times of the blocks do not rise')
      const span = high.number - low.number
      const share = (unix - low.timestamp) / Math.max(1, high.timestamp - low.timestamp)
      const guess = step % 3 === 2 ? span / 2 : span * share
      const offset = Math.min(span - 1, Math.max(1, Math.round(guess)))
      const guessed = low.number + offset
      // A good guess is off by one at most.
      const near = [guessed - 1, guessed, guessed + 1]
      const inside = near.filter((number) => number > low.number && number < high.number)
      const blocks = await Promise.all(inside.map((number) => this.at(number)))
      this.#requireOrder([low, ...blocks, high])
      low = blocks.findLast(({ timestamp }) => timestamp < unix) ?? low
      high = blocks.find(({ timestamp }) => timestamp >= unix) ?? high
    }
    return high
  }

  #requireOrder(blocks: readonly TimedBlock[]): void {
    for (const [index, { number, timestamp }] of blocks.entries())
      if (timestamp < (blocks[index - 1]?.timestamp ?? 0))
        throw this.#inconsistent(`block ${number} is older than one before it`)
  }

  #inconsistent(message: string): RpcError {
    this.#known.clear()
    return new RpcError(message)
  }
}

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
