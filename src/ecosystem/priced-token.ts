import type { AbiEvent } from 'ox/AbiEvent'
import type { AbiFunction } from 'ox/AbiFunction'
import type { Static } from 'typebox'
import type { Address, Hash } from '#base/address.ts'
import type { MicroUsd, Price } from '#base/money.ts'
import type { Token } from '#base/token.ts'
import type { EventArguments } from './event-arguments.ts'
import type { chainEntry } from './fields.ts'
import type { FoundContracts } from './found-contracts.ts'
import type { Problem } from './problem.ts'

export interface Chain
  extends Omit<Required<Static<typeof chainEntry>>, 'rpcUrls' | 'explorerUrl'> {
  readonly rpcUrls: readonly string[]
  readonly explorerUrl: string | null
}

export type PriceSource = FixedPrice | ContractPrice

/** Start of a source, at its first event from then on: a block of its chain, or Unix seconds of a day. */
export type Since = { readonly block: number } | { readonly unix: number }

interface FixedPrice {
  readonly kind: 'fixed'
  /** Its place in the file, such as `tokens[0].price`. */
  readonly field: string
  readonly chain: null
  readonly quote: null
  readonly usd: string
  /** Null for the first source. */
  readonly since: { readonly unix: number } | null
}

/** A pool or feed whose events state each new price. */
export interface ContractPrice {
  readonly kind: string
  readonly field: string
  readonly chain: Chain
  readonly address: Address
  /** Symbol of the token that prices are in, which has its own price; null for US dollars. */
  readonly quote: string | null
  /** Their arguments have the same names. */
  readonly events: readonly AbiEvent[]
  /** Topics after the first of the events that count; without it, any will do. */
  topics?(pair: PricePair): readonly (readonly Hash[] | null)[]
  /** Null for the first source. */
  readonly since: Since | null
  /** Dollars in the pool below which its price does not count. */
  readonly floor?: MicroUsd | null
  /** The age at which an event states no price any more. */
  readonly staleAfterSeconds?: number
  /** What the last trade paid: fees bend it, and one transaction with a trade there and back leaves a false price. */
  readonly ofLastTrade?: true
  /** The contracts that emit, if not `address`. */
  readonly emitters?: Emitters
  /** Undefined if the event says nothing; throws DecodeError if it is unreadable. Must be pure. */
  read(args: EventArguments, pair: PricePair): PriceReading | undefined
  /** Compares the contract with the file; the problem's field is one of the price. */
  prove(ask: AskView, pair: ProvenPair): Promise<Problem | undefined>
}

export interface Emitters {
  readonly found: FoundContracts
  readonly address: Address
  /** Asks the views of `address`. */
  ask(view: AskView): Promise<readonly Address[]>
}

export interface PriceReading {
  /** Null where nothing can be traded from here on. */
  readonly price: Price | null
  /** What the pool holds in all, in base units of the quote; null if its events do not say. */
  readonly liquidity: bigint | null
}

export interface PricePair {
  readonly token: PricedToken
  /** Null for a feed in dollars. */
  readonly quote: PricedToken | null
}

export interface ProvenPair extends PricePair {
  /** All of the file, for what would be right. */
  readonly tokens: readonly PricedToken[]
}

/** Calls a view of the contract, or of the one `at` an address; undefined if it has none. */
export type AskView = (
  view: AbiFunction,
  args?: readonly unknown[],
  at?: Address,
) => Promise<unknown>

export interface PricedToken extends Token {
  /** Oldest first; none if the token has no dollar values. */
  readonly prices: readonly PriceSource[]
}

export function findToken(tokens: readonly PricedToken[], symbol: string | null) {
  const name = symbol?.toUpperCase()
  return tokens.find((token) => token.symbol.toUpperCase() === name)
}

export function findPair(
  tokens: readonly PricedToken[],
  token: PricedToken,
  source: PriceSource,
): PricePair {
  return { token, quote: findToken(tokens, source.quote) ?? null }
}

/** Returns the token, its quotes, their quotes and so on. */
export function findPath(
  tokens: readonly PricedToken[],
  token: PricedToken | undefined,
): ReadonlySet<PricedToken> {
  const path = new Set(token && [token])
  // A set visits what is added while it is walked.
  for (const { prices } of path)
    for (const source of prices) {
      const quote = findToken(tokens, source.quote)
      if (quote !== undefined) path.add(quote)
    }
  return path
}

export function hasBegun(
  since: Since,
  at: { readonly blockNumber: number; readonly timestamp: number },
): boolean {
  return 'block' in since ? at.blockNumber >= since.block : at.timestamp >= since.unix
}

export interface Deployment {
  readonly chainId: number
  readonly address: Address
  readonly symbol: string
}

export function listDeployments(
  tokens: readonly PricedToken[],
  chains: readonly Chain[],
): readonly Deployment[] {
  return tokens.flatMap(({ symbol, addresses }) =>
    chains.flatMap(({ id: chainId, name }) => {
      const address = addresses.get(name)
      return address === undefined ? [] : [{ chainId, address, symbol }]
    }),
  )
}
