import { LRUCache } from 'lru-cache'
import type { BlockHeader } from '#domain/chain.ts'
import type { Position } from './chain-event.ts'
import type { ChainSource } from './chain-source.ts'
import { RpcError } from './rpc-error.ts'

const HEADERS_MAX = 5_000

const STEPS_MAX = 120

export type TimedBlock = Pick<BlockHeader, 'number' | 'timestamp'>

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
