import { type Address, getAddress, keccak256, slice, stringToHex } from 'viem'
import type { ChainName } from '#devnet/addresses.ts'

/**
 * Gives the made-up people of a chain, in the order in which they appear in its history.
 * The last third of base's people is also on ethereum, so that some wallets hold on two chains.
 */
export function peopleOf(chain: ChainName): readonly Address[] {
  const [from, to] = ranges[chain]
  return Array.from({ length: to - from }, (_, index) => personAddress(from + index))
}

/** How many people at the head of a chain's list hold tokens from its first day on. */
export const foundersOf: Readonly<Record<ChainName, number>> = { base: 200, ethereum: 110 }

/** The people who trade on the market of base: the first of base's founders. */
export const traders: readonly Address[] = Array.from({ length: 8 }, (_, index) =>
  personAddress(index),
)

/** Gives up to 60 people of a chain who dig graves; the ranks thin out towards the end. */
export function diggersOf(people: readonly Address[]): readonly Address[] {
  return people.filter((_, index) => index % 3 === 1).slice(0, 60)
}

const ranges: Readonly<Record<ChainName, readonly [number, number]>> = {
  base: [0, 360],
  ethereum: [240, 450],
}

function personAddress(index: number): Address {
  return getAddress(slice(keccak256(stringToHex(`sexton devnet person ${index}`)), 12))
}
