import type { Tier } from '#domain/tier.ts'

export interface ServiceFacts {
  readonly name: string
  readonly version: string
  /** Has no trailing slash. */
  readonly publicBaseUrl: string
  readonly pricingDocsUrl: string
  readonly keyPrefix: string
  /** The page's colors; the house style fills in missing ones. */
  readonly colors: {
    readonly chains?: readonly { readonly light: string; readonly dark: string }[]
    readonly accent?: { readonly light: string; readonly dark: string }
  }
  /** Addresses elsewhere, for people. */
  readonly links: {
    readonly trade?: string
    readonly website?: string
    readonly community?: string
  }
  readonly chains: readonly {
    readonly name: string
    readonly chainId: number
    readonly caip2: string
    readonly explorerUrl: string | null
  }[]
  readonly tokens: readonly {
    readonly symbol: string
    readonly name: string
    readonly role: 'primary' | 'secondary' | 'reward'
    readonly decimals: number
    /** EIP-55 address by chain name. */
    readonly addresses: Readonly<Record<string, string>>
  }[]
  readonly eventKinds: readonly {
    readonly part: string
    readonly noun: string
    readonly tag: { readonly name: string; readonly description: string }
  }[]
  readonly tiers: readonly {
    readonly tier: Tier
    /** Calls per UTC day. */
    readonly dailyQuota: number
    readonly requires: string
  }[]
  /** Decimal US dollars, such as `0.0001`. */
  readonly pricePerCallUsd: string
  /** Who can mint a key: holders, anyone (`open`), or no one (null). */
  readonly gate:
    | {
        readonly chain: string
        readonly minimumUsd: number
        readonly symbols: readonly string[]
      }
    | 'open'
    | null
  readonly payment: {
    readonly network: string
    readonly asset: string
    readonly symbol: string
    readonly payTo: string
    readonly confirmations: number
  } | null
  readonly notConfigured: readonly string[]
}
