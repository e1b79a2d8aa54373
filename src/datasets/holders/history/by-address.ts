import type { AddressTable } from './address-table.ts'

/** With the 32 bits before them, as many places as a number holds exactly: two million at a time. */
const PLACES_MAX = 1 << 21

/**
 * Places of a list in the order of the first 32 bits of the addresses that stand there, equal ones as
 * they came: where rows go in order, each finds the page of the last one at hand. The address and the
 * place are sorted as one number, which needs no comparison of ours.
 */
export function* byAddress(
  addresses: AddressTable,
  count: number,
  idAt: (place: number) => number,
): Iterable<number> {
  for (let from = 0; from < count; from += PLACES_MAX) {
    const keys = new Float64Array(Math.min(count - from, PLACES_MAX))
    for (let place = 0; place < keys.length; place += 1)
      keys[place] = addresses.firstBits(idAt(from + place)) * PLACES_MAX + place
    for (const key of keys.sort()) yield from + (key % PLACES_MAX)
  }
}
