import assert from 'node:assert/strict'

/** Sums of uint256 values have no fixed width, so the width is part of the text. */
const DIGITS_MAX = 999
const LENGTH_DIGITS = 3

/**
 * Writes any integer as text that sorts like the number on every engine: a sign (0 below zero, else 1), the
 * number of digits, the digits. Below zero, length and digits are complements to 9.
 */
export function toStored(value: bigint): string {
  const isNegative = value < 0n
  const digits = (isNegative ? -value : value).toString()
  assert(digits.length <= DIGITS_MAX, `${digits.length} digits are more than ${DIGITS_MAX}`)
  const text = digits.length.toString().padStart(LENGTH_DIGITS, '0') + digits
  return isNegative ? `0${complement(text)}` : `1${text}`
}

export function fromStored(text: unknown): bigint {
  assert(
    typeof text === 'string' && text.length > 1 + LENGTH_DIGITS,
    `not a stored integer: ${text}`,
  )
  if (text.startsWith('1')) return BigInt(text.slice(1 + LENGTH_DIGITS))
  return -BigInt(complement(text.slice(1 + LENGTH_DIGITS)))
}

function complement(digits: string): string {
  return digits.replace(/\d/g, (digit) => String(9 - Number(digit)))
}
