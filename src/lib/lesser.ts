/** The lesser of two: `Math.min` takes no bigint. */
export function lesser(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

/** The greater of two. */
export function greater(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
