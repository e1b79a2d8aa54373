import { hashHeader } from '#chain/proofs/hash-header.ts'
import { receiptsRoot } from '#chain/proofs/receipts-root.ts'
import type { Address, Hash } from '#domain/address.ts'
import { bloomOf } from '#test/chain-builder/bloom-of.ts'
import { RandomWords } from '../index/random-words.ts'

type Hex = `0x${string}`

/** A block and its receipts as a node returns them. */
export interface WireBlock {
  readonly block: Readonly<Record<string, unknown>> & { readonly hash: Hash }
  readonly receipts: readonly object[]
}

export interface FullBlocksInput {
  readonly blocks: number
  /** Range of transactions per block. */
  readonly transactions: readonly [number, number]
  /** Average logs per transaction. */
  readonly logs: number
  /** Each block has one log from one of these, unless the list is empty. */
  readonly ours: readonly { readonly address: Address; readonly topics: readonly Hash[] }[]
}

const ZERO: Hash = `0x${'00'.repeat(32)}`
const hex = (number: number): Hex => `0x${number.toString(16)}`

/** Linked blocks with valid hashes, blooms and receipt roots, determined by a seed. */
export async function makeFullBlocks(input: FullBlocksInput): Promise<readonly WireBlock[]> {
  const random = new RandomWords(1)
  const made: WireBlock[] = []
  for (let number = 0; number < input.blocks; number += 1) {
    const parentHash = made.at(-1)?.block.hash ?? ZERO
    made.push(await makeBlock(random, input, { number, parentHash }))
  }
  return made
}

async function makeBlock(
  random: RandomWords,
  input: FullBlocksInput,
  { number, parentHash }: { readonly number: number; readonly parentHash: Hash },
): Promise<WireBlock> {
  const [least, most] = input.transactions
  const count = least + random.below(most - least + 1)
  const drafts = Array.from({ length: count }, (_, index) => {
    const isDeposit = index === 0
    const logs = isDeposit ? [] : makeLogs(random, input.logs)
    const own = input.ours[number % Math.max(1, input.ours.length)]
    if (index === count - 1 && own !== undefined) logs.push({ ...own, data: bytes(random, 32) })
    return { logs, isDeposit, transactionHash: bytes(random, 32) }
  })
  const logsBloom = bloomOf(drafts.flatMap(({ logs }) => logs))
  const transactions = drafts.map(({ transactionHash }) => transactionHash)
  const receipts = drafts.map(({ logs, isDeposit, transactionHash }, index) => ({
    ...{ transactionHash, transactionIndex: hex(index), blockNumber: hex(number) },
    ...{ type: isDeposit ? '0x7e' : '0x2', status: '0x1', gasUsed: '0x1d4c0' },
    ...(isDeposit && { depositNonce: hex(number), depositReceiptVersion: '0x1' }),
    ...{ cumulativeGasUsed: hex(120_000 * (index + 1)), effectiveGasPrice: '0x5f5e100' },
    ...{ from: bytes(random, 20), to: bytes(random, 20), contractAddress: null },
    ...{ l1Fee: '0x1d4c', l1GasPrice: '0x5f5e100', l1GasUsed: '0x640', l1BlobBaseFee: '0x1' },
    logs,
    logsBloom: bloomOf(logs),
  }))
  const header = {
    ...{ parentHash, number: hex(number), timestamp: hex(1_700_000_000 + 2 * number) },
    ...{ sha3Uncles: ZERO, miner: bytes(random, 20), stateRoot: bytes(random, 32) },
    ...{ transactionsRoot: bytes(random, 32), receiptsRoot: await receiptsRoot(receipts) },
    ...{ logsBloom, difficulty: '0x0', gasLimit: '0xfffffff', gasUsed: '0xffffff' },
    ...{ extraData: '0x', mixHash: bytes(random, 32), nonce: '0x0000000000000000' },
    ...{ baseFeePerGas: '0x5f5e100', withdrawalsRoot: ZERO, blobGasUsed: '0x0' },
    ...{ excessBlobGas: '0x0', parentBeaconBlockRoot: ZERO, requestsHash: ZERO },
  }
  const hash = hashHeader(header) ?? ZERO
  return {
    block: { ...header, hash, transactions },
    receipts: receipts.map((receipt) => ({
      ...receipt,
      blockHash: hash,
      logs: receipt.logs.map((log) => ({
        ...{ ...log, blockHash: hash, blockNumber: hex(number), blockTimestamp: header.timestamp },
        ...{ transactionHash: receipt.transactionHash, logIndex: '0x0', removed: false },
        transactionIndex: receipt.transactionIndex,
      })),
    })),
  }
}

interface Draft {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
}

function makeLogs(random: RandomWords, mean: number): Draft[] {
  return Array.from({ length: random.below(2 * mean + 1) }, () => ({
    address: bytes(random, 20),
    topics: Array.from({ length: 3 }, () => bytes(random, 32)),
    data: bytes(random, 64),
  }))
}

function bytes(random: RandomWords, count: number): Hash {
  let text = ''
  while (text.length < 2 * count) text += random.next().toString(16).padStart(8, '0')
  return `0x${text.slice(0, 2 * count)}`
}
