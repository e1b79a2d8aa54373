import { free } from '#lib/free.ts'
import type { AddressTable } from './address-table.ts'

/** Together with the 32 bits above it, a place fits exactly into a double. */
const PLACES_MAX = 1 << 21

/**
 * Sorted by the first 32 bits of the address, stable, so that rows are written in index order.
 * Sorting keys as numbers needs no comparator.
 */
export function byAddress(
  addresses: AddressTable,
  numbers: Float64Array,
  idOf: (value: number) => number,
): Float64Array<ArrayBuffer> {
  const sorted = new Float64Array(numbers.length)
  for (let from = 0; from < numbers.length; from += PLACES_MAX) {
    const keys = numbers.slice(from, from + PLACES_MAX)
    for (let place = 0; place < keys.length; place += 1)
      keys[place] = addresses.firstBits(idOf(keys[place] ?? 0)) * PLACES_MAX + place
    keys.sort()
    for (let place = 0; place < keys.length; place += 1)
      sorted[from + place] = numbers[from + ((keys[place] ?? 0) % PLACES_MAX)] ?? 0
    free(keys)
  }
  return sorted
}
