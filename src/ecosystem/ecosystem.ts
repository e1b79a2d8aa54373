import type { AbiEvent } from 'ox/AbiEvent'
import type { Address } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { Token } from '#domain/token.ts'

/** A chain that is followed. */
export interface Chain {
  readonly name: string
  readonly id: number
  readonly rpcUrls: readonly string[]
  readonly explorerUrl: string | null
  readonly startBlock: number
  readonly pollIntervalMs: number
  /** `tag`: ask the node for safe and finalized; a number: that many blocks deep is final. */
  readonly finality: 'tag' | number
  readonly staleAfterSeconds: number
  /** Which logs of new blocks are proven by receipts: all mapped logs, or only payments. */
  readonly proofs: 'every' | 'deposits'
}

/** Where a token's price comes from. */
export type PriceSource =
  | {
      readonly kind: 'uniswap-v2' | 'uniswap-v3'
      readonly chain: Chain
      readonly address: Address
      /** Symbol of the other token of the pool, which has a price of its own. */
      readonly quote: string
    }
  | {
      readonly kind: 'chainlink'
      readonly chain: Chain
      readonly address: Address
      /** Decimals of the answers. */
      readonly decimals: number
    }
  | { readonly kind: 'fixed'; readonly usd: string }

export interface PricedToken extends Token {
  readonly price: PriceSource | null
}

/** One event of one contract that means something here. */
export interface EventSource {
  readonly chain: Chain
  readonly address: Address
  readonly event: AbiEvent
  readonly topic0: `0x${string}`
  /** Accepted values per argument, lower-cased text; an argument not named passes. */
  readonly where: ReadonlyMap<string, ReadonlySet<string>>
  /** The token when no argument names it. */
  readonly token: PricedToken | null
}

export interface BurnSource extends EventSource {
  readonly from: string
  readonly amount: string
  /** The receiving address: zero means `burn`, another burn address `transfer`. */
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

/** The asset that callers pay in, and to whom. */
export interface Payment {
  readonly chain: Chain
  readonly asset: Address
  readonly symbol: string
  /** Decimals of the asset: one base unit is one micro-USD. */
  readonly decimals: 6
  /** EIP-712 domain of the asset. */
  readonly domain: { readonly name: string; readonly version: string }
  readonly confirmations: number
  /** How deposits are proven: by the receipts of their block, or by two endpoints that agree. */
  readonly proof: 'receipts' | 'endpoints'
  /** Above this sum per block, a second endpoint, if configured, must confirm the block's hash. */
  readonly secondOpinion: MicroUsd
  /** Oldest first; payments to any of them count, the newest is shown. */
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

/** What exists, resolved from the operator's file: every reference is an object, every text parsed. */
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
  /** Null in an ecosystem without a second token. */
  readonly secondary: PricedToken | null
  /** The zero address not among them: it is always a burn. */
  readonly burnAddresses: readonly Address[]
  readonly nonCirculating: readonly Address[]
  readonly burns: readonly BurnSource[]
  readonly dividends: readonly DividendSource[]
  readonly graveDigs: readonly GraveDigSource[]
  /** Null without payments: calls beyond the quota are then refused until the next day. */
  readonly payment: Payment | null
  readonly quotas: { readonly anonymous: number; readonly free: number; readonly premium: number }
  readonly pricePerCall: MicroUsd
  /** `open`: any wallet may mint a key; null: no one can. */
  readonly gate: HoldingGate | 'open' | null
  readonly premium: Premium | null
}

/** Optional parts of the file. */
export const OPTIONAL_PARTS = [
  'burns',
  'dividends',
  'graveDigs',
  'payment',
  'gate',
  'premium',
] as const

export type OptionalPart = (typeof OPTIONAL_PARTS)[number]

/** The optional parts that are missing; an empty list of events counts as missing. */
export function notConfigured(ecosystem: Pick<Ecosystem, OptionalPart>): readonly OptionalPart[] {
  return OPTIONAL_PARTS.filter((part) => {
    const value = ecosystem[part]
    return value === null || (Array.isArray(value) && value.length === 0)
  })
}
