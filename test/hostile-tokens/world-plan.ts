import { accounts, type ChainName } from '#devnet/addresses.ts'
import type { Chance } from '#test/chance.ts'

/** What a history may contain besides plain mints, transfers, burns, payouts and deposits. */
export const features = [
  'flash-mints',
  'undone-mints',
  'half-burns',
  'high-prices',
  'moving-prices',
  'self-transfers',
  'zero-pairs',
  'zero-amounts',
  'burn-addresses',
  'mints-to-burn-addresses',
  'unexplained-balances',
  'unlisted-tokens',
  'dialects',
  'bridges',
  'payouts',
  'mixed-transactions',
  'indexes-by-transaction',
  'reorgs',
  'faulty-nodes',
  'restarts',
] as const

export type Feature = (typeof features)[number]

/** How likely a history has a feature; those that hide others from view are rare. */
const likelihood: Partial<Record<Feature, number>> = {
  'mints-to-burn-addresses': 0.25,
  'unexplained-balances': 0.25,
  dialects: 0.25,
  'indexes-by-transaction': 0.25,
}
const OFTEN = 0.6

export type Pace = 'seconds' | 'hours' | 'days'

/** What a seed decides about one world. */
export interface WorldPlan {
  readonly chains: readonly ChainName[]
  readonly proofs: 'every' | 'deposits'
  readonly features: ReadonlySet<Feature>
  readonly decimals: Readonly<Record<'GRAVE' | 'CRYPT', number>>
  /** CRYPT costs 1,000 dollars, or what its pool says. */
  readonly cryptPrice: 'fixed' | 'pool'
  /** Which of the two mappings that match the payer's transfers to the treasury comes first. */
  readonly isPayerFirst: boolean
  readonly pace: Pace
  readonly finalDepth: number
  /** The last lively block is far below the head, so that it is read as history. */
  readonly isOldHistory: boolean
}

/** Pays holders by plain transfers, which a mapping of its own counts as claims. */
export const payer = accounts.relayer

export function planWorld(chance: Chance, proofs: WorldPlan['proofs']): WorldPlan {
  const chosen = features.filter((each) => chance.happens(likelihood[each] ?? OFTEN))
  return {
    chains: chance.happens(0.6) ? ['base', 'ethereum'] : ['base'],
    proofs,
    features: new Set(chosen),
    decimals: { GRAVE: 18, CRYPT: chance.pick([18, 9, 0]) },
    cryptPrice: chance.pick(['fixed', 'pool']),
    isPayerFirst: chance.happens(0.5),
    pace: chance.pick(['seconds', 'hours', 'days']),
    finalDepth: chance.integer(3, 8),
    isOldHistory: chance.happens(0.6),
  }
}
