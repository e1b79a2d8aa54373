import { type Hex, hexToBytes, keccak256, numberToHex, toHex } from 'viem'
import { topicStart } from './event-kinds.ts'
import type { SyntheticChain } from './synthetic-chain.ts'

/** Blooms of single items that are kept; contracts and events are few, holders are many. */
const BLOOM_ITEMS_MAX = 20_000

const ZERO_HASH: Hex = `0x${'0'.repeat(64)}`
const EMPTY_UNCLES: Hex = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'
const GAS_LIMIT = 60_000_000
const GAS_PER_TRANSACTION = 52_000
/** Blocks take about this many bytes: what a block explorer would show. */
const BLOCK_BYTES = 1_200

export interface BlockAnswerDeps {
  readonly chain: SyntheticChain
  /** `right`: of the block's logs; `full`: admits everything where there is a log, and costs nothing. */
  readonly bloom: 'right' | 'full'
  readonly bloomItems: Map<string, bigint>
}

/** A block as `eth_getBlockByNumber` gives it (ethereum/execution-apis), null above the head. */
export function blockAnswer(
  deps: BlockAnswerDeps,
  number: number | undefined,
  withTransactions: boolean,
): object | null {
  const { chain } = deps
  if (number === undefined || number < 0 || number > chain.blocks.head) return null
  const transactions = transactionsOf(chain, number)
  const hash = chain.blocks.hashOf(number)
  return {
    number: numberToHex(number),
    hash,
    parentHash: number === 0 ? ZERO_HASH : chain.blocks.hashOf(number - 1),
    timestamp: numberToHex(chain.blocks.timeOf(number)),
    logsBloom: bloomOf(deps, number),
    nonce: '0x0000000000000000',
    mixHash: ZERO_HASH,
    sha3Uncles: EMPTY_UNCLES,
    transactionsRoot: hash,
    stateRoot: hash,
    receiptsRoot: hash,
    miner: '0x4200000000000000000000000000000000000011',
    difficulty: '0x0',
    totalDifficulty: '0x0',
    extraData: '0x',
    size: numberToHex(BLOCK_BYTES),
    gasLimit: numberToHex(GAS_LIMIT),
    gasUsed: numberToHex(transactions.length * GAS_PER_TRANSACTION),
    baseFeePerGas: '0xf4240',
    uncles: [],
    transactions: withTransactions
      ? transactions.map((each) => fullTransaction(each, { number, hash }))
      : transactions.map((each) => each.hash),
  }
}

interface BenchTransaction {
  readonly hash: Hex
  readonly index: number
  /** The contract of its first log. */
  readonly to: Hex
}

/** The transactions of a block that left logs. */
function transactionsOf(chain: SyntheticChain, number: number): readonly BenchTransaction[] {
  const first = chain.blocks.firstLog(number)
  const transactions: BenchTransaction[] = []
  for (let log = first; log < chain.blocks.firstLog(number + 1); log += 1) {
    if (log > first && chain.sharesTransaction(log)) continue
    transactions.push({
      hash: chain.blocks.transactionHash(number, transactions.length),
      index: chain.foreignCount(number) + transactions.length,
      to: chain.logs.kindOf(log).address,
    })
  }
  return transactions
}

function fullTransaction(
  transaction: BenchTransaction,
  block: { readonly number: number; readonly hash: Hex },
): object {
  return {
    blockHash: block.hash,
    blockNumber: numberToHex(block.number),
    hash: transaction.hash,
    transactionIndex: numberToHex(transaction.index),
    from: `0x${transaction.hash.slice(2, 42)}`,
    to: transaction.to,
    nonce: '0x1',
    value: '0x0',
    input: `0xa9059cbb${transaction.hash.slice(2)}${transaction.hash.slice(2)}`,
    gas: numberToHex(GAS_PER_TRANSACTION),
    gasPrice: '0xf4240',
    maxFeePerGas: '0xf4240',
    maxPriorityFeePerGas: '0x0',
    accessList: [],
    type: '0x2',
    chainId: '0x2105',
    v: '0x1',
    yParity: '0x1',
    r: transaction.hash,
    s: transaction.hash,
  }
}

/** The bloom of a block's logs (Ethereum Yellow Paper, 4.3.1). */
function bloomOf({ chain, bloom, bloomItems }: BlockAnswerDeps, number: number): Hex {
  const isEmpty = chain.blocks.firstLog(number) === chain.blocks.firstLog(number + 1)
  if (bloom === 'full' && !isEmpty) return `0x${'f'.repeat(512)}`
  let bits = 0n
  const add = (item: Hex) => {
    const known = bloomItems.get(item)
    const own = known ?? bitsOf(item)
    if (known === undefined && bloomItems.size < BLOOM_ITEMS_MAX) bloomItems.set(item, own)
    bits |= own
  }
  for (let log = chain.blocks.firstLog(number); log < chain.blocks.firstLog(number + 1); log += 1) {
    const kind = chain.logs.kindOf(log)
    add(kind.address)
    for (let position = 0; position < kind.topics; position += 1)
      add(`0x${chain.logs.text(log, topicStart(position), 64)}`)
  }
  return toHex(bits, { size: 256 })
}

function bitsOf(item: Hex): bigint {
  const hash = BigInt(keccak256(hexToBytes(item)))
  const bit = (shift: bigint) => 1n << ((hash >> shift) & 2047n)
  return bit(240n) | bit(224n) | bit(208n)
}
