import { keccak256 } from 'ox/Hash'
import { fromHex } from 'ox/Rlp'
import type { Hash } from '#domain/address.ts'
import { bytes, integer } from './encode-receipt.ts'

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
