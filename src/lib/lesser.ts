export function lesser(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

export function greater(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
