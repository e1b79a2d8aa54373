import type { Address } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'
import { type EventSources, eventKinds } from './event-kinds.ts'
import type { Chain, PricedToken } from './priced-token.ts'

export type { EventSource } from './event-source.ts'
export type { Chain, PricedToken, PriceSource } from './priced-token.ts'

export interface Payment {
  readonly chain: Chain
  readonly asset: Address
  readonly symbol: string
  /** One base unit is one micro-USD. */
  readonly decimals: 6
  /** EIP-712 domain of the asset. */
  readonly domain: { readonly name: string; readonly version: string }
  readonly confirmations: number
  /** Proof of a deposit: receipts of its block, or two endpoints that agree. */
  readonly proof: 'receipts' | 'endpoints'
  /** Above this sum per block, a second endpoint, if configured, must confirm the block hash. */
  readonly secondOpinion: MicroUsd
  /** Oldest first; all are credited, the newest is shown. */
  readonly payTo: readonly { readonly address: Address; readonly since: string }[]
}

/** What a wallet must hold to mint a key. */
export interface HoldingGate {
  readonly chain: Chain
  readonly minimum: MicroUsd
  readonly depthBlocks: number
  readonly averagePriceMinutes: number
}

/** The share of the secondary token's supply that makes a wallet premium. */
export interface Premium {
  readonly chain: Chain
  readonly token: PricedToken
  readonly supplyPerMille: number
  readonly depthBlocks: number
}

/** The operator's file with references resolved and texts parsed. */
export interface Ecosystem extends EventSources {
  readonly service: {
    readonly name: string
    readonly keyPrefix: string
    /** Without a trailing slash. */
    readonly publicBaseUrl: string
    readonly pricingDocsUrl: string
  }
  readonly chains: readonly Chain[]
  readonly tokens: readonly PricedToken[]
  readonly primary: PricedToken
  /** Null without a second token. */
  readonly secondary: PricedToken | null
  /** Without the zero address, which always burns. */
  readonly burnAddresses: readonly Address[]
  readonly nonCirculating: readonly Address[]
  /** Null: calls beyond the quota are refused until the next day. */
  readonly payment: Payment | null
  readonly quotas: { readonly anonymous: number; readonly free: number; readonly premium: number }
  readonly pricePerCall: MicroUsd
  /** `open`: any wallet may mint; null: minting is off. */
  readonly gate: HoldingGate | 'open' | null
  readonly premium: Premium | null
}

export const OPTIONAL_PARTS = [
  ...eventKinds.map(({ part }) => part),
  'payment',
  'gate',
  'premium',
] as const

export type OptionalPart = (typeof OPTIONAL_PARTS)[number]

/** Missing optional parts; an empty list of events counts as missing. */
export function notConfigured(ecosystem: Pick<Ecosystem, OptionalPart>): readonly OptionalPart[] {
  return OPTIONAL_PARTS.filter((part) => {
    const value = ecosystem[part]
    return value === null || (Array.isArray(value) && value.length === 0)
  })
}
