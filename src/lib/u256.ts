import assert from 'node:assert/strict'

/** Digits of 2^256 - 1: padded text sorts like the number on every engine. */
export const STORED_DIGITS = 78

export const U256_MAX = 2n ** 256n - 1n

export function toStored(value: bigint): string {
  assert(value >= 0n && value <= U256_MAX, `not a uint256: ${value}`)
  return value.toString().padStart(STORED_DIGITS, '0')
}

export function fromStored(text: unknown): bigint {
  assert(typeof text === 'string' && text.length === STORED_DIGITS, `not a stored uint256: ${text}`)
  return BigInt(text)
}
