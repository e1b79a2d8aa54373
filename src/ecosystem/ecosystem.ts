import type { Address } from '#base/address.ts'
import type { MicroUsd } from '#base/money.ts'
import { type Quotas, type ShareTier, shareTiers } from '#base/tier.ts'
import { type EventSources, eventKinds } from '#data/kinds.ts'
import type { EcosystemFile } from './ecosystem-file.ts'
import type { EventSource } from './event-source.ts'
import type { Chain, PricedToken } from './priced-token.ts'

export type { EventSource } from './event-source.ts'
export type { Chain, PricedToken, PriceSource } from './priced-token.ts'

type PaymentFile = NonNullable<EcosystemFile['payment']>

export interface Payment extends Omit<PaymentFile, 'chain' | 'asset' | 'payTo'> {
  readonly chain: Chain
  readonly asset: Address
  /** One base unit is one micro-USD. */
  readonly decimals: 6
  /** Oldest first; all are credited, the newest is shown. */
  readonly payTo: readonly { readonly address: Address; readonly since: string }[]
}

export interface HoldingGate {
  readonly chain: Chain
  readonly minimum: MicroUsd
  readonly depthBlocks: number
  readonly averagePriceMinutes: number
}

/** The share of a token's supply, over all its chains, that a tier asks for. */
export interface SupplyShare {
  readonly token: PricedToken
  readonly supplyPerMille: number
  readonly depthBlocks: number
}

type SharesOfTiers = { readonly [Name in ShareTier]: SupplyShare | null }

export interface Ecosystem extends EventSources, SharesOfTiers {
  /** What it was resolved from. Only this can cross to another thread. */
  readonly file: EcosystemFile
  /** Its `publicBaseUrl` has no trailing slash. */
  readonly service: Required<EcosystemFile['service']>
  readonly chains: readonly Chain[]
  readonly tokens: readonly PricedToken[]
  readonly primary: PricedToken
  readonly secondary: PricedToken | null
  /** Excludes the zero address, which always burns. */
  readonly burnAddresses: readonly Address[]
  readonly nonCirculating: readonly Address[]
  readonly bridges: readonly EventSource[]
  /** Null: calls beyond the quota are refused until the next day. */
  readonly payment: Payment | null
  readonly quotas: Quotas
  readonly pricePerCall: MicroUsd
  /** `open`: any wallet may mint; null: minting is off. */
  readonly gate: HoldingGate | 'open' | null
}

export const OPTIONAL_PARTS = [
  ...eventKinds.map(({ part }) => part),
  'payment',
  'gate',
  ...shareTiers.map(({ name }) => name),
] as const

type OptionalPart = (typeof OPTIONAL_PARTS)[number]

/** Missing optional parts; an empty list of events counts as missing. */
export function notConfigured(ecosystem: Pick<Ecosystem, OptionalPart>): readonly OptionalPart[] {
  return OPTIONAL_PARTS.filter((part) => {
    const value = ecosystem[part]
    return value === null || (Array.isArray(value) && value.length === 0)
  })
}
