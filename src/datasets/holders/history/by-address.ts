import { free } from '#lib/free.ts'
import type { AddressTable } from './address-table.ts'

/** With the 32 bits before them, as many places as a number holds exactly: two million at a time. */
const PLACES_MAX = 1 << 21

/**
 * Numbers in the order of the first 32 bits of the addresses that they belong to, equal ones as they
 * came: where rows go in order, each finds the page of the last one at hand. Address and place are
 * sorted as one number, which needs no comparison of ours.
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
