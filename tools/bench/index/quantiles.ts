/** The value below which a share of a list lies; NaN of an empty list. */
export function quantile(list: readonly number[], share: number): number {
  const sorted = list.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

/** The middle value; of an even number of values the lower of the two. */
export function median(list: readonly number[]): number {
  return quantile(list, 0.5)
}
