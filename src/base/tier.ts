/**
 * Lowest first. A `share` of a token's supply is configured under the tier's name.
 * `stored` marks wallets in the accounts store and never changes.
 */
export const tiers = [
  { name: 'anonymous', needs: 'nothing', dailyQuota: 500 },
  { name: 'free', needs: 'key', dailyQuota: 2_000, stored: 0 },
  { name: 'premium', needs: 'share', dailyQuota: 50_000, stored: 1 },
] as const

type AnyTier = (typeof tiers)[number]

export type Tier = AnyTier['name']

export type WalletTier = Exclude<Tier, 'anonymous'>

export type ShareTier = Extract<AnyTier, { readonly needs: 'share' }>['name']

export type Quotas = Readonly<Record<Tier, number>>

export const walletTiers = tiers.filter((tier) => tier.needs !== 'nothing')
export const shareTiers = tiers.filter((tier) => tier.needs === 'share')

/** What a wallet may use, over all its keys. */
export interface Allowance {
  readonly tier: WalletTier
  readonly dailyQuota: number
}

const quotas = tiers.map(({ name, dailyQuota }) => [name, dailyQuota])
export const DEFAULT_QUOTAS: Quotas = Object.fromEntries(quotas)
