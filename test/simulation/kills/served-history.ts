import { type ChainName, chainIds } from '#devnet/addresses.ts'
import { type BuiltChain, beginChain } from '#test/chain-builder/built-chain.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { makeChainLife } from '../chain-life.ts'
import { chanceOf } from '../chance.ts'

/** A chain behind a socket that grows and reorganises while it is indexed. */
export interface ServedHistory {
  readonly name: ChainName
  readonly url: string
  /** Number of the last block of its final form. */
  readonly headNumber: number
  /** How many of the forms it has been served in so far; the last is the final one. */
  readonly stage: number
  readonly stages: number
  /** Begins anew as it was at first; it changes as it is asked for logs and blocks. */
  rewind(): void
  /** Shows its final form. */
  finish(): void
  stop(): Promise<void>
}

/** Sixty days, of which the newest are read first and the others after them. */
const BLOCKS = 70
const SECONDS_APART = (60 * 86_400) / BLOCKS
const GENESIS_UNIX = 1_760_000_000

/** So few blocks per request that a history comes in many pieces. */
const RANGE_MAX = 8

/** Slow enough that new blocks come in while history is read. */
const ANSWER_MS = 6

/** With every so many calls for logs and blocks something new happens at the head. */
const CALLS_PER_STAGE = 10

const COUNTED = new Set(['eth_getLogs', 'eth_getBlockByNumber'])

/** Builds the history of a chain and serves it. */
export async function serveHistory(name: ChainName, seed: number): Promise<ServedHistory> {
  const forms = formsOf(name, seed)
  const [first, last] = [forms[0], forms.at(-1)]
  if (first === undefined || last === undefined) throw new RangeError('there is no chain')
  const served: ServedChain = await serveChain(first)
  let stage = 0
  const show = (index: number) => {
    stage = Math.min(index, forms.length - 1)
    served.chain = forms[stage] ?? last
  }
  Object.assign(served.faults, {
    rangeMax: { blocks: RANGE_MAX, dialect: 'infura' },
    latencyMs: () => {
      const calls = served.methods.filter((method) => COUNTED.has(method)).length
      show(Math.max(stage, Math.floor(calls / CALLS_PER_STAGE)))
      return ANSWER_MS
    },
  })
  return {
    name,
    url: served.url,
    headNumber: last.head.number,
    stages: forms.length,
    get stage() {
      return stage
    },
    rewind() {
      served.methods.length = 0
      show(0)
    },
    finish: () => show(forms.length - 1),
    stop: () => served.stop(),
  }
}

/** The chain as it is at first, and after each thing that happens to it. */
function formsOf(name: ChainName, seed: number): readonly BuiltChain[] {
  const life = makeChainLife(chanceOf(`kills ${seed} ${name}`), name)
  const pace = { secondsApart: SECONDS_APART, transactionsPerBlock: 1 }
  const near = { secondsApart: 12, transactionsPerBlock: 1 }
  const history = life.grow(beginChain(chainIds[name], GENESIS_UNIX), BLOCKS, pace)
  const first = life.grow(history, 12, near)
  const grown = life.grow(first, 3, near)
  const reorganised = life.rewrite(grown, grown.head.number - 4, 6, near)
  const again = life.rewrite(reorganised, reorganised.head.number - 1, 3, near)
  return [first, grown, reorganised, again, life.grow(again, 2, near)]
}
