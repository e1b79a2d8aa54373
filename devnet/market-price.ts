import { mixSeed } from '#devnet/random.ts'

export type PricedAsset = 'eth' | 'grave' | 'crypt'

/**
 * A pure function of seed and time, so that both chains agree and restarts continue. ETH stays
 * within 2660 to 3390 USD, GRAVE within 0.021 to 0.048, CRYPT within 0.6 to 1.65.
 */
export function marketPriceUsd(input: {
  readonly seed: number
  readonly asset: PricedAsset
  readonly atUnix: number
}): number {
  const { median, spread, salt } = shapes[input.asset]
  const level = octaves.reduce((sum, octave, index) => {
    const seed = mixSeed(input.seed, salt, index)
    return sum + octave.weight * smoothNoise(seed, input.atUnix / octave.periodSeconds)
  }, 0)
  return median * Math.exp(spread * level)
}

const shapes: Readonly<
  Record<PricedAsset, { readonly median: number; readonly spread: number; readonly salt: number }>
> = {
  eth: { median: 3000, spread: 0.12, salt: 1 },
  grave: { median: 0.032, spread: 0.4, salt: 2 },
  crypt: { median: 1, spread: 0.5, salt: 3 },
}

const hour = 3600

// Slow waves for the trend, fast ones for noise; weights add up to 1.
const octaves = [
  { periodSeconds: 24 * 24 * hour, weight: 0.5 },
  { periodSeconds: 6 * 24 * hour, weight: 0.25 },
  { periodSeconds: 31 * hour, weight: 0.15 },
  { periodSeconds: 5 * hour, weight: 0.07 },
  { periodSeconds: hour / 3, weight: 0.03 },
] as const

// Value noise: random levels, eased into each other.
function smoothNoise(seed: number, position: number): number {
  const cell = Math.floor(position)
  const share = position - cell
  const eased = share * share * (3 - 2 * share)
  return levelAt(seed, cell) * (1 - eased) + levelAt(seed, cell + 1) * eased
}

function levelAt(seed: number, cell: number): number {
  return mixSeed(seed, cell) / 2 ** 31 - 1
}
