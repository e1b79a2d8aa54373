import { hash } from 'node:crypto'
import type { Address, Hex } from 'viem'
import { bloomOf } from './bloom-of.ts'

/** A log that is still to stand in a block. */
export interface LogPlan {
  readonly address: Address
  readonly topics: readonly Hex[]
  readonly data: Hex
  /** Logs with the same words come from one transaction; else each has a transaction of its own. */
  readonly transaction?: string
}

export interface BlockPlan {
  /** Seconds after the parent; 2 unless given, 0 is allowed. */
  readonly secondsApart?: number
  readonly logs?: readonly LogPlan[]
}

export interface BuiltLog {
  readonly address: Address
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly transactionHash: Hex
  readonly transactionIndex: number
  readonly logIndex: number
}

export interface BuiltBlock {
  readonly number: number
  readonly hash: Hex
  readonly parentHash: Hex
  readonly timestamp: number
  readonly logsBloom: Hex
  readonly logs: readonly BuiltLog[]
}

/**
 * A made-up chain with right parent links, hashes and blooms. It never changes: `add` and `fork`
 * give new ones, so a fork of a fork is `chain.fork(5).add(a).fork(6).add(b)`.
 */
export class BuiltChain {
  readonly chainId: number
  readonly blocks: readonly BuiltBlock[]
  readonly #branch: string

  constructor(chainId: number, blocks: readonly BuiltBlock[], branch: string) {
    this.chainId = chainId
    this.blocks = blocks
    this.#branch = branch
  }

  get head(): BuiltBlock {
    return this.at(this.blocks.length - 1)
  }

  at(number: number): BuiltBlock {
    const block = this.blocks[number]
    if (block === undefined) throw new RangeError(`there is no block ${number}`)
    return block
  }

  /** The chain with more blocks on top. */
  add(...plans: readonly BlockPlan[]): BuiltChain {
    const blocks = [...this.blocks]
    for (const plan of plans) blocks.push(this.#next(blocks, plan))
    return new BuiltChain(this.chainId, blocks, this.#branch)
  }

  /** The chain with empty blocks on top. */
  addEmpty(count: number, secondsApart = 2): BuiltChain {
    return this.add(...Array.from({ length: count }, () => ({ secondsApart })))
  }

  /** Another branch that shares every block up to a height; what is added has other hashes. */
  fork(number: number): BuiltChain {
    const kept = this.blocks.slice(0, number + 1)
    return new BuiltChain(this.chainId, kept, hashOf(`${this.head.hash} ${number}`))
  }

  #next(blocks: readonly BuiltBlock[], plan: BlockPlan): BuiltBlock {
    const parent = blocks.at(-1)
    if (parent === undefined) throw new RangeError('a chain begins with its genesis')
    const number = parent.number + 1
    const timestamp = parent.timestamp + (plan.secondsApart ?? 2)
    const logs = buildLogs(this.chainId, number, plan.logs ?? [])
    const content = JSON.stringify([this.chainId, this.#branch, number, timestamp, logs])
    const { hash: parentHash } = parent
    const logsBloom = bloomOf(logs)
    return {
      number,
      hash: hashOf(`${parentHash}${content}`),
      parentHash,
      timestamp,
      logsBloom,
      logs,
    }
  }
}

/** A chain that holds its genesis block only. */
export function beginChain(chainId: number, genesisUnix: number): BuiltChain {
  const genesis = {
    number: 0,
    hash: hashOf(`genesis ${chainId} ${genesisUnix}`),
    parentHash: hashOf('nothing'),
    timestamp: genesisUnix,
    logsBloom: bloomOf([]),
    logs: [],
  }
  return new BuiltChain(chainId, [genesis], 'first')
}

function buildLogs(chainId: number, number: number, plans: readonly LogPlan[]): BuiltLog[] {
  const transactions = new Map<string, number>()
  return plans.map(({ address, topics, data, transaction }, logIndex) => {
    // The branch is no part of it: a reorganisation mostly brings the same transactions again.
    const words = transaction ?? `${chainId} ${number} ${logIndex}`
    const transactionIndex = transactions.get(words) ?? transactions.size
    transactions.set(words, transactionIndex)
    return { address, topics, data, transactionHash: hashOf(words), transactionIndex, logIndex }
  })
}

/** Any good hash will do, since nobody but its makers recomputes a made-up block's. */
function hashOf(words: string): Hex {
  return `0x${hash('sha256', words)}`
}
