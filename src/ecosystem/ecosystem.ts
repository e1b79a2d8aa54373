import type { AbiEvent } from 'ox/AbiEvent'
import type { Address } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { Token } from '#domain/token.ts'

export interface Chain {
  readonly name: string
  readonly id: number
  readonly rpcUrls: readonly string[]
  readonly explorerUrl: string | null
  readonly startBlock: number
  readonly pollIntervalMs: number
  /** `tag`: the node's safe and finalized tags; a number: final at that depth. */
  readonly finality: 'tag' | number
  readonly staleAfterSeconds: number
  /** Which logs of new blocks are proven by receipts. */
  readonly proofs: 'every' | 'deposits'
}

export type PriceSource =
  | {
      readonly kind: 'uniswap-v2' | 'uniswap-v3'
      readonly chain: Chain
      readonly address: Address
      /** Symbol of the pool's other token, which has its own price. */
      readonly quote: string
    }
  | {
      readonly kind: 'chainlink'
      readonly chain: Chain
      readonly address: Address
      /** Decimals of the feed's answers. */
      readonly decimals: number
    }
  | { readonly kind: 'fixed'; readonly usd: string }

export interface PricedToken extends Token {
  readonly price: PriceSource | null
}

/** A mapped event of one contract. */
export interface EventSource {
  readonly chain: Chain
  readonly address: Address
  readonly event: AbiEvent
  readonly topic0: `0x${string}`
  /** Accepted values per argument, lower-cased; other arguments pass. */
  readonly where: ReadonlyMap<string, ReadonlySet<string>>
  /** Fallback when no argument names the token. */
  readonly token: PricedToken | null
}

export interface BurnSource extends EventSource {
  readonly from: string
  readonly amount: string
  /** Receiver: the zero address means `burn`, a burn address `transfer`. */
  readonly to: string | null
}

export interface DividendSource extends EventSource {
  readonly kind: 'claim' | 'distribution'
  readonly amount: string
  readonly recipient: string | null
  readonly tokenArgument: string | null
}

export interface GraveDigSource extends EventSource {
  readonly digger: string
  readonly amount: string
  readonly graveId: string | null
  readonly tokenArgument: string | null
}

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
export interface Ecosystem {
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
  readonly burns: readonly BurnSource[]
  readonly dividends: readonly DividendSource[]
  readonly graveDigs: readonly GraveDigSource[]
  /** Null: calls beyond the quota are refused until the next day. */
  readonly payment: Payment | null
  readonly quotas: { readonly anonymous: number; readonly free: number; readonly premium: number }
  readonly pricePerCall: MicroUsd
  /** `open`: any wallet may mint; null: minting is off. */
  readonly gate: HoldingGate | 'open' | null
  readonly premium: Premium | null
}

export const OPTIONAL_PARTS = [
  'burns',
  'dividends',
  'graveDigs',
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
