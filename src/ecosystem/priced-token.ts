import type { Address } from '#domain/address.ts'
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
