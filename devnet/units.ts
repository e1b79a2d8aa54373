/**
 * Turns an amount in whole tokens into base units, exact to a millionth of a token.
 * @param decimals of the token, at least 6; 18 unless given.
 */
export function units(amount: number, decimals = 18): bigint {
  return BigInt(Math.round(amount * 1e6)) * 10n ** BigInt(decimals - 6)
}

/** Turns base units of an 18-decimals token into whole tokens, as near as a number comes. */
export function toTokens(amount: bigint): number {
  return Number(amount) / 1e18
}
