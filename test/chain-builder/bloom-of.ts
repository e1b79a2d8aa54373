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

function bitsOf(item: Hex): bigint {
  const hash = BigInt(keccak256(hexToBytes(item)))
  const pair = (shift: bigint) => 1n << ((hash >> shift) & 2047n)
  return pair(240n) | pair(224n) | pair(208n)
}
