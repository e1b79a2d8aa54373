import { LRUCache } from 'lru-cache'
import { allEnded } from '#base/async.ts'
import type { Log } from '#base/chain.ts'
import { chunks } from '#base/chunks.ts'
import { startOfDay, startOfHour } from '#base/time.ts'
import type { ChainSource, Position, SourceLog } from './chain-source.ts'
import { RpcError } from './rpc-error.ts'

const HEADERS_MAX = 5_000

/** Times of blocks. */
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

  forget(): void {
    this.#known.clear()
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
    readonly logs: readonly SourceLog[]
    exact(log: SourceLog): boolean
    readonly hoursFromUnix: number
  },
): Promise<readonly Log[]> {
  const { logs, exact, hoursFromUnix } = input
  if (logs.every(isDated)) return logs
  const undated = logs.filter((log) => !isDated(log))
  const blocks = listBlocks(undated)
  const times = new Map<number, number>()
  const periodOf = (unix: number) => (unix >= hoursFromUnix ? startOfHour(unix) : startOfDay(unix))
  await datePeriods({ clock, blocks, times, periodOf }, 0, blocks.length - 1)
  for (const some of chunks(listBlocks(undated.filter(exact)), HEADERS_AT_ONCE))
    for (const block of await allEnded(some.map((number) => clock.at(number))))
      times.set(block.number, block.timestamp)
  return logs.map((log) =>
    isDated(log) ? log : { ...log, timestamp: times.get(log.blockNumber) ?? 0 },
  )
}

function isDated(log: SourceLog): log is Log {
  return log.timestamp !== null
}

function listBlocks(logs: readonly SourceLog[]): readonly number[] {
  return [...new Set(logs.map(({ blockNumber }) => blockNumber))]
}

interface Dating {
  readonly clock: BlockClock
  /** Ascending. */
  readonly blocks: readonly number[]
  readonly times: Map<number, number>
  periodOf(unix: number): number
}

/** Blocks between two of one period are of that period. Interpolates, because blocks come evenly, and bisects every third step. */
async function datePeriods(dating: Dating, low: number, high: number, step = 0): Promise<void> {
  const { clock, blocks, times, periodOf } = dating
  const at = (index: number) => blocks[index] ?? 0
  const [first, last] = await allEnded([clock.at(at(low)), clock.at(at(high))])
  const [from, to] = [first.timestamp, last.timestamp]
  if (from > to) {
    clock.forget()
    throw new RpcError(`block ${last.number} is older than one before it`)
  }
  if (periodOf(from) === periodOf(to) || high - low < 2) {
    for (let index = low; index < high; index += 1) times.set(at(index), from)
    times.set(at(high), to)
    return
  }
  const middle = periodOf((from + to) / 2)
  const begin = middle > from ? middle : periodOf(to)
  const share = step % 3 === 2 ? 0.5 : (begin - from) / (to - from)
  const guess = Math.min(high - 1, Math.max(low + 1, low + Math.round((high - low) * share)))
  await allEnded([
    datePeriods(dating, low, guess, step + 1),
    datePeriods(dating, guess, high, step + 1),
  ])
}
