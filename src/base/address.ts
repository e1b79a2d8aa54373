import { checksum, validate } from 'ox/Address'

/** Lower-case, the only stored form. */
export type Address = `0x${string}`
export type Hash = `0x${string}`

export const ZERO_ADDRESS: Address = '0x0000000000000000000000000000000000000000'

const SHAPE = /^0x[0-9a-fA-F]{40}$/

/** Rejects mixed case with a wrong checksum (EIP-55). */
export function parseAddress(text: string): Address | undefined {
  if (!SHAPE.test(text)) return undefined
  const digits = text.slice(2)
  const mixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase()
  if (mixed && !validate(text, { strict: true })) return undefined
  return text.toLowerCase() as Address
}

/** Returns the checksummed form (EIP-55). */
export function showAddress(address: Address): `0x${string}` {
  return checksum(address)
}

const HASH = /^0x[0-9a-fA-F]{64}$/

export function parseHash(text: string): Hash | undefined {
  return HASH.test(text) ? (text.toLowerCase() as Hash) : undefined
}
