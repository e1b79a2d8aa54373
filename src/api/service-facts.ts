import type { PageColors, PageLinks } from '#domain/page-settings.ts'
import type { Tier } from '#domain/tier.ts'

export interface ServiceFacts {
  readonly name: string
  readonly version: string
  /** Has no trailing slash. */
  readonly publicBaseUrl: string
  readonly pricingDocsUrl: string
  readonly keyPrefix: string
  readonly colors: PageColors
  readonly links: PageLinks
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
