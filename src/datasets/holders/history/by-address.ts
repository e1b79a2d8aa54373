import type { AddressTable } from './address-table.ts'

const BUCKETS = 256

/**
 * Numbers in the order of the addresses that they belong to, those of one address as they came.
 * Sorted a 256th at a time, because a sort of all of them holds all of them twice on the heap.
 */
export function* byAddress(
  addresses: AddressTable,
  numbers: Float64Array,
  idOf: (value: number) => number,
): Iterable<number> {
  const ends = new Uint32Array(BUCKETS)
  for (const value of numbers) count(ends, addresses.firstByte(idOf(value)))
  for (let bucket = 1; bucket < BUCKETS; bucket += 1)
    ends[bucket] = (ends[bucket] ?? 0) + (ends[bucket - 1] ?? 0)
  const next = new Uint32Array(BUCKETS)
  next.set(ends.subarray(0, BUCKETS - 1), 1)
  const parted = new Float64Array(numbers.length)
  for (const value of numbers) parted[count(next, addresses.firstByte(idOf(value)))] = value
  let from = 0
  for (const end of ends) {
    yield* parted.subarray(from, end).sort((a, b) => addresses.compare(idOf(a), idOf(b)))
    from = end
  }
}

/** Counts one more in a bucket; gives how many there were. */
function count(counts: Uint32Array, bucket: number): number {
  const before = counts[bucket] ?? 0
  counts[bucket] = before + 1
  return before
}
