export function units(amount: number, decimals = 18): bigint {
  return BigInt(Math.round(amount * 1e6)) * 10n ** BigInt(decimals - 6)
}

export function toTokens(amount: bigint): number {
  return Number(amount) / 1e18
}
