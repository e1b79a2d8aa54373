import { type Address, getAddress, keccak256, slice, stringToHex } from 'viem'
import type { ChainName } from '#devnet/addresses.ts'

/** In order of appearance. Neighbouring chains share people. */
export function peopleOf(chain: ChainName): readonly Address[] {
  const [from, to] = ranges[chain]
  return Array.from({ length: to - from }, (_, index) => personAddress(from + index))
}

/** Hold tokens from the first day. */
export const foundersOf: Readonly<Record<ChainName, number>> = {
  base: 200,
  ethereum: 110,
  arbitrum: 50,
}

/** The first of base's founders. */
export const traders: readonly Address[] = Array.from({ length: 8 }, (_, index) =>
  personAddress(index),
)

/** Up to 60. */
export function diggersOf(people: readonly Address[]): readonly Address[] {
  return people.filter((_, index) => index % 3 === 1).slice(0, 60)
}

const ranges: Readonly<Record<ChainName, readonly [number, number]>> = {
  base: [0, 360],
  ethereum: [240, 450],
  arbitrum: [420, 520],
}

function personAddress(index: number): Address {
  return getAddress(slice(keccak256(stringToHex(`sexton devnet person ${index}`)), 12))
}
