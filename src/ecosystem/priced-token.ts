import type { AbiEvent } from 'ox/AbiEvent'
import type { AbiFunction } from 'ox/AbiFunction'
import type { Address } from '#domain/address.ts'
import type { Price } from '#domain/money.ts'
import type { Token } from '#domain/token.ts'
import type { JsonMembers } from '#lib/json.ts'
import type { EventArguments } from './event-arguments.ts'
import type { Problem } from './problem.ts'

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

export type PriceSource = FixedPrice | ContractPrice

export interface FixedPrice {
  readonly kind: 'fixed'
  readonly chain: null
  readonly usd: string
}

/** A pool or feed whose events state each new price. */
export interface ContractPrice {
  readonly kind: string
  readonly chain: Chain
  readonly address: Address
  /** Symbol of the token that prices are in, which has its own price; null for US dollars. */
  readonly quote: string | null
  readonly event: AbiEvent
  /** What the last trade paid: one transaction with a trade there and back leaves a false price. */
  readonly ofLastTrade?: true
  /** What `read` depends on besides the pair: once it changes, prices are read again. */
  readonly facts: JsonMembers
  /** Pure. Undefined if the event has no price; throws DecodeError if it is unreadable. */
  read(args: EventArguments, pair: PricePair): Price | undefined
  /** Compares the contract with the file; the problem's field is one of the price. */
  prove(ask: AskView, pair: PricePair): Promise<Problem | undefined>
}

export interface PricePair {
  readonly token: PricedToken
  /** Null for a feed in dollars. */
  readonly quote: PricedToken | null
}

/** Calls a view of the contract; undefined if it has none. */
export type AskView = (view: AbiFunction, args?: readonly unknown[]) => Promise<unknown>

export interface PricedToken extends Token {
  readonly price: PriceSource | null
}

/** Symbol of the token that the price is in; null for US dollars. */
export function quoteOf(price: PriceSource): string | null {
  return price.chain === null ? null : price.quote
}
