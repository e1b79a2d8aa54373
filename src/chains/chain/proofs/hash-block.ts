import { createMPT } from '@ethereumjs/mpt'
import { keccak256 } from 'ox/Hash'
import { toBytes } from 'ox/Hex'
import { fromHex } from 'ox/Rlp'
import type { Hash } from '#domain/address.ts'

/** Listed in hashing order (Yellow Paper, 4.3). */
const FIELDS = [
  ['parentHash', bytes],
  ['sha3Uncles', bytes],
  ['miner', bytes],
  ['stateRoot', bytes],
  ['transactionsRoot', bytes],
  ['receiptsRoot', bytes],
  ['logsBloom', bytes],
  ['difficulty', integer],
  ['number', integer],
  ['gasLimit', integer],
  ['gasUsed', integer],
  ['timestamp', integer],
  ['extraData', bytes],
  ['mixHash', bytes],
  ['nonce', bytes],
] as const

/** Forks added these in this order; each requires all before it. */
const FORK_FIELDS = [
  // EIP-1559
  ['baseFeePerGas', integer],
  // EIP-4895
  ['withdrawalsRoot', bytes],
  // EIP-4844
  ['blobGasUsed', integer],
  ['excessBlobGas', integer],
  // EIP-4788
  ['parentBeaconBlockRoot', bytes],
  // EIP-7685
  ['requestsHash', bytes],
  // EIP-7928
  ['blockAccessListHash', bytes],
  // EIP-7843
  ['slotNumber', integer],
] as const

export function hashHeader(block: Readonly<Record<string, unknown>>): Hash | undefined {
  const encoded: `0x${string}`[] = []
  for (const [name, encode] of FIELDS) {
    const value = block[name]
    if (!isHex(value)) return undefined
    encoded.push(encode(value))
  }
  for (const [name, encode] of FORK_FIELDS) {
    const value = block[name]
    if (!isHex(value)) break
    encoded.push(encode(value))
  }
  return keccak256(fromHex(encoded, { as: 'Hex' }))
}

const ADDED_FIELDS = ['hash', 'size', 'totalDifficulty', 'transactions', 'uncles', 'withdrawals']

export function unknownFields(block: Readonly<Record<string, unknown>>): readonly string[] {
  const known = new Set<string>([...FIELDS, ...FORK_FIELDS].map(([name]) => name))
  return Object.keys(block).filter((name) => !known.has(name) && !ADDED_FIELDS.includes(name))
}

function isHex(value: unknown): value is `0x${string}` {
  return typeof value === 'string' && /^0x[0-9a-fA-F]*$/.test(value)
}

type Hex = `0x${string}`

/** A receipt as `eth_getBlockReceipts` returns it. */
export interface WireReceipt {
  readonly type?: string | null
  /** Absent before Byzantium, which used `root`. */
  readonly status?: string | null
  readonly root?: string | null
  readonly cumulativeGasUsed: string
  readonly logsBloom: string
  readonly logs: readonly {
    readonly address: string
    readonly topics: readonly string[]
    readonly data: string
  }[]
  readonly depositNonce?: string | null
  readonly depositReceiptVersion?: string | null
  readonly baseFee?: string | null
}

/**
 * EIP-658, EIP-2718. OP stack deposits add nonce and version since Canyon; Celo adds the base fee
 * in the fee currency (CIP-64) since it became a layer 2.
 */
export function encodeReceipt(receipt: WireReceipt): Hex {
  const { status, root, depositNonce, depositReceiptVersion, baseFee } = receipt
  const type = typeOf(receipt)
  const fields = [
    isOf(status) ? integer(status) : bytes(root ?? '0x'),
    integer(receipt.cumulativeGasUsed),
    bytes(receipt.logsBloom),
    receipt.logs.map(({ address, topics, data }) => [
      bytes(address),
      topics.map(bytes),
      bytes(data),
    ]),
    // Before Canyon, nodes return a nonce that the trie lacks.
    ...(isOf(depositReceiptVersion)
      ? [integer(depositNonce ?? '0x0'), integer(depositReceiptVersion)]
      : []),
    ...(type === CELO_FEE_CURRENCY && isOf(baseFee) ? [integer(baseFee)] : []),
  ]
  const payload = fromHex(fields, { as: 'Hex' })
  return type === 0 ? payload : `0x${type.toString(16).padStart(2, '0')}${payload.slice(2)}`
}

const CELO_FEE_CURRENCY = 0x7b

/** Ethereum, Arbitrum (OffchainLabs/go-ethereum, `Receipts.EncodeIndex`) and OP stack deposits. */
const KNOWN_TYPES = [0, 1, 2, 3, 4, 0x64, 0x65, 0x66, 0x68, 0x69, 0x6a, 0x7e]

/** Others are encoded with the fields of Ethereum, which may or may not be right. */
export function isKnownType(receipt: WireReceipt): boolean {
  const type = typeOf(receipt)
  // Nodes older than celo-org/op-geth#347 omit the base fee.
  return KNOWN_TYPES.includes(type) || (type === CELO_FEE_CURRENCY && isOf(receipt.baseFee))
}

function typeOf({ type }: WireReceipt): number {
  return Number(type ?? 0)
}

function isOf(value: string | null | undefined): value is string {
  return typeof value === 'string'
}

function integer(quantity: string): Hex {
  const digits = quantity.slice(2).replace(/^0+/, '')
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`
}

function bytes(text: string): Hex {
  return `0x${text.slice(2)}`
}

/** Yellow Paper, 4.3.1. */
export async function receiptsRoot(receipts: readonly WireReceipt[]): Promise<Hash> {
  const trie = await createMPT()
  for (const [index, receipt] of receipts.entries()) {
    const key = fromHex(integer(`0x${index.toString(16)}`), { as: 'Bytes' })
    await trie.put(key, toBytes(encodeReceipt(receipt)))
  }
  return `0x${Buffer.from(trie.root()).toString('hex')}`
}
