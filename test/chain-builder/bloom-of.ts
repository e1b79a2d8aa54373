import { type Hex, hexToBytes, keccak256, toHex } from 'viem'

/** The bloom of logs (Ethereum Yellow Paper, 4.3.1), written apart from the code under test. */
export function bloomOf(
  logs: readonly { readonly address: Hex; readonly topics: readonly Hex[] }[],
): Hex {
  let bloom = 0n
  for (const { address, topics } of logs)
    for (const item of [address, ...topics]) bloom |= bitsOf(item)
  return toHex(bloom, { size: 256 })
}

/** Few addresses and topics fill a chain, and their hashes are dear. */
const known = new Map<Hex, bigint>()

/** A chain has some thousands of topics at most; the bound only guards against endless runs. */
const KNOWN_MAX = 100_000

function bitsOf(item: Hex): bigint {
  const before = known.get(item)
  if (before !== undefined) return before
  const hash = BigInt(keccak256(hexToBytes(item)))
  const pair = (shift: bigint) => 1n << ((hash >> shift) & 2047n)
  const bits = pair(240n) | pair(224n) | pair(208n)
  if (known.size < KNOWN_MAX) known.set(item, bits)
  return bits
}
