/** Deterministic for a seed. */
export interface Random {
  unit(): number
  between(low: number, high: number): number
  /** `limit` is excluded. */
  below(limit: number): number
  /** Throws if empty. */
  pick<Item>(items: readonly Item[]): Item
  /** Half of all draws are below the median. */
  logNormal(median: number, sigma: number): number
  shuffle<Item>(items: readonly Item[]): Item[]
}

/** mulberry32, with 32 bits of state. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const unit = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    return scramble(state) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(unit() * limit)
  return {
    unit,
    below,
    between: (low, high) => low + unit() * (high - low),
    pick(items) {
      const item = items[below(items.length)]
      if (item === undefined) throw new RangeError('nothing to pick from')
      return item
    },
    logNormal: (median, sigma) => median * Math.exp(sigma * normal(unit)),
    shuffle: (items) =>
      items
        .map((item) => ({ item, rank: unit() }))
        .sort((left, right) => left.rank - right.rank)
        .map(({ item }) => item),
  }
}

export function mixSeed(...parts: readonly number[]): number {
  return parts.reduce((mixed, part) => scramble((mixed ^ Math.floor(part)) + 0x9e3779b9), 0x5ec5)
}

function scramble(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 15), value | 1)
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
  return (mixed ^ (mixed >>> 14)) >>> 0
}

// Box-Muller.
function normal(unit: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - unit())) * Math.cos(2 * Math.PI * unit())
}
