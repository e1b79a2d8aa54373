import type { Address, Hex } from 'viem'
import type { ChainName } from '#devnet/addresses.ts'

/** A chain as its newest branch has it; all that a recount reads. */
export interface CanonicalChain {
  readonly id: number
  readonly name: ChainName
  readonly blocks: readonly CanonicalBlock[]
}

export interface CanonicalBlock {
  readonly number: number
  readonly hash: Hex
  readonly timestamp: number
  readonly logs: readonly CanonicalLog[]
}

export interface CanonicalLog {
  readonly address: Address
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly transactionHash: Hex
}

export interface Transfer {
  readonly from: string
  readonly to: string
  readonly amount: bigint
}

export const ZERO = `0x${'0'.repeat(40)}`

/** keccak256 of `Transfer(address,address,uint256)`. */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** Whether a contract wrote it as a transfer, in whatever form. */
export function isTransferOf(log: CanonicalLog, token: string): boolean {
  return log.address.toLowerCase() === token.toLowerCase() && log.topics[0] === TRANSFER
}

/** An ERC-20 transfer with two indexed arguments; undefined for any other form. */
export function readTransfer(log: CanonicalLog, token: string): Transfer | undefined {
  const [, from, to, ...more] = log.topics
  if (!isTransferOf(log, token) || from === undefined || to === undefined) return undefined
  if (more.length > 0 || log.data.length !== 66) return undefined
  return { from: addressIn(from), to: addressIn(to), amount: BigInt(log.data) }
}

/** The last 20 bytes of a word. */
export function addressIn(word: string): string {
  return `0x${word.slice(-40)}`
}

/** A word of the data, counted from 0. */
export function wordOf(log: CanonicalLog, place: number): bigint {
  return BigInt(`0x${log.data.slice(2 + place * 64, 66 + place * 64)}`)
}

/** The logs of a block by transaction, each with its place in the block. */
export function transactionsOf(block: CanonicalBlock): readonly (readonly PlacedLog[])[] {
  const transactions = new Map<string, PlacedLog[]>()
  for (const [place, log] of block.logs.entries()) {
    const own = transactions.get(log.transactionHash) ?? []
    own.push({ ...log, place })
    transactions.set(log.transactionHash, own)
  }
  return [...transactions.values()]
}

export interface PlacedLog extends CanonicalLog {
  readonly place: number
}
