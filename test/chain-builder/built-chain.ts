import { hash } from 'node:crypto'
import type { Address, Hex } from 'viem'
import { bloomOf } from './bloom-of.ts'
import { type HeaderContent, hashOfHeader } from './built-header.ts'
import { type BuiltReceipt, buildReceipts } from './built-receipts.ts'

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

export interface BuiltBlock extends HeaderContent {
  readonly hash: Hex
  readonly logs: readonly BuiltLog[]
  /** Receipts, on a provable chain. */
  readonly receipts?: readonly BuiltReceipt[]
}

export interface ChainTraits {
  /** Blocks hash to their receipts too, at the price of a few hashes more each. */
  readonly isProvable?: boolean
  /** What a log index counts from: the block's first log (EIP-1474) or the transaction's. */
  readonly logIndexes?: 'block' | 'transaction'
}

/**
 * A made-up chain with right parent links, hashes and blooms. It never changes: `add` and `fork`
 * give new ones, so a fork of a fork is `chain.fork(5).add(a).fork(6).add(b)`.
 */
export class BuiltChain {
  readonly chainId: number
  readonly blocks: readonly BuiltBlock[]
  readonly #branch: string
  readonly #traits: ChainTraits

  constructor(
    chainId: number,
    blocks: readonly BuiltBlock[],
    branch: string,
    traits: ChainTraits = {},
  ) {
    this.chainId = chainId
    this.blocks = blocks
    this.#branch = branch
    this.#traits = traits
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
    return new BuiltChain(this.chainId, blocks, this.#branch, this.#traits)
  }

  /** The chain with empty blocks on top. */
  addEmpty(count: number, secondsApart = 2): BuiltChain {
    return this.add(...Array.from({ length: count }, () => ({ secondsApart })))
  }

  /** Another branch that shares every block up to a height; what is added has other hashes. */
  fork(number: number): BuiltChain {
    const kept = this.blocks.slice(0, number + 1)
    const branch = hashOf(`${this.head.hash} ${number}`)
    return new BuiltChain(this.chainId, kept, branch, this.#traits)
  }

  #next(blocks: readonly BuiltBlock[], plan: BlockPlan): BuiltBlock {
    const parent = blocks.at(-1)
    if (parent === undefined) throw new RangeError('a chain begins with its genesis')
    const number = parent.number + 1
    const timestamp = parent.timestamp + (plan.secondsApart ?? 2)
    const logs = buildLogs(this.chainId, number, plan.logs ?? [], this.#traits)
    const content = JSON.stringify([this.chainId, this.#branch, number, timestamp, logs])
    const { hash: parentHash } = parent
    const root = hashOf(content)
    return blockOf({ number, parentHash, timestamp, root, logs }, this.#traits)
  }
}

/** A chain that holds its genesis block only. */
export function beginChain(
  chainId: number,
  genesisUnix: number,
  traits: ChainTraits = {},
): BuiltChain {
  const parentHash = hashOf('nothing')
  const root = hashOf(`genesis ${chainId}`)
  const first = { number: 0, parentHash, timestamp: genesisUnix, root, logs: [] }
  return new BuiltChain(chainId, [blockOf(first, traits)], 'first', traits)
}

function blockOf(
  block: Omit<BuiltBlock, 'hash' | 'logsBloom'>,
  { isProvable = false }: ChainTraits,
): BuiltBlock {
  const proof = isProvable ? buildReceipts(block.logs) : {}
  const content = { ...block, ...proof, logsBloom: bloomOf(block.logs) }
  return { ...content, hash: hashOfHeader(content) }
}

function buildLogs(
  chainId: number,
  number: number,
  plans: readonly LogPlan[],
  { logIndexes = 'block' }: ChainTraits,
): BuiltLog[] {
  const transactions = new Map<string, { readonly index: number; logs: number }>()
  return plans.map(({ address, topics, data, transaction }, place) => {
    // The branch is no part of it: a reorganisation mostly brings the same transactions again.
    const words = transaction ?? `${chainId} ${number} ${place}`
    const own = transactions.get(words) ?? { index: transactions.size, logs: 0 }
    transactions.set(words, own)
    const transactionIndex = own.index
    const logIndex = logIndexes === 'block' ? place : own.logs
    own.logs += 1
    return { address, topics, data, transactionHash: hashOf(words), transactionIndex, logIndex }
  })
}

/** For transactions and roots, which nobody recomputes; the hash of a block is a true one. */
function hashOf(words: string): Hex {
  return `0x${hash('sha256', words)}`
}
