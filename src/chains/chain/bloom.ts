import { LRUCache } from 'lru-cache'
import { fromHex } from 'ox/Bytes'
import { keccak256 } from 'ox/Hash'
import type { BlockHeader } from '#domain/chain.ts'
import type { LogFilter } from './log-filter.ts'

/** Yellow Paper, 4.3.1; true may be chance, and always for an unknown bloom. */
export function bloomAdmits(logsBloom: BlockHeader['logsBloom'], filter: LogFilter): boolean {
  if (logsBloom === null) return true
  const bloom = fromHex(logsBloom)
  const { addresses } = filter
  const anyAddress = addresses === null || addresses.some((address) => holds(bloom, address))
  return (
    anyAddress &&
    filter.topics.every((values) => values === null || values.some((topic) => holds(bloom, topic)))
  )
}

export function admittedPairs(
  logsBloom: `0x${string}`,
  pairs: NonNullable<LogFilter['pairs']>,
): NonNullable<LogFilter['pairs']> {
  const bloom = fromHex(logsBloom)
  return pairs.filter(({ address, topic0 }) => holds(bloom, address) && holds(bloom, topic0))
}

function holds(bloom: Uint8Array, item: `0x${string}`): boolean {
  return bitsOf(item).every((bit) => ((bloom[255 - (bit >> 3)] ?? 0) & (1 << (bit & 7))) !== 0)
}

/** Cached, because hashing is slow, and contracts and kinds of events recur in every block. */
const known = new LRUCache<`0x${string}`, readonly number[]>({ max: 4_096 })

function bitsOf(item: `0x${string}`): readonly number[] {
  const before = known.get(item)
  if (before !== undefined) return before
  const hash = keccak256(fromHex(item), { as: 'Bytes' })
  const bits = [0, 2, 4].map(
    (start) => (((hash[start] ?? 0) << 8) | (hash[start + 1] ?? 0)) & 0x7ff,
  )
  known.set(item, bits)
  return bits
}
