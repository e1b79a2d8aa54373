import type { AbiEvent } from 'ox/AbiEvent'
import { type Static, type TObject, Type } from 'typebox'
import { COIN_ADDRESS } from '#base/token.ts'
import type { EventArguments } from '../event-arguments.ts'
import { addressText, chainName, decimalText, symbol } from '../fields.ts'
import type {
  AskView,
  Chain,
  ContractPrice,
  PricedToken,
  PricePair,
  ProvenPair,
} from '../priced-token.ts'
import { type Resolver, STAND_IN } from '../resolver.ts'

/** The most that a pool of Curve can have. */
export const COINS_MAX = 8

const place = Type.Integer({
  minimum: 0,
  maximum: COINS_MAX - 1,
  description: 'its place in coins(), from 0',
})

/** Fields of all kinds; a description follows "is missing:". */
export const priceFields = {
  chain: chainName,
  address: {
    ...addressText,
    description:
      'the pool, vault or feed: 0x and 40 hex digits, with the EIP-55 checksum if in mixed case',
  },
  quote: {
    ...symbol,
    description: "the symbol of the pool's other token, or of the vault's asset",
  },
  minLiquidityUsd: {
    ...decimalText,
    description:
      'the dollars in the pool below which its price does not count, such as "10000"; of a v3 pool, those of its virtual reserves, of which a narrow position has many times its worth',
  },
  wrapped: {
    ...addressText,
    description: 'the token that stands for the coin in the pool, such as WETH',
  },
  fee: Type.Integer({ minimum: 0, maximum: 8_388_608, description: "the fee of the pool's key" }),
  tickSpacing: Type.Integer({
    minimum: 1,
    maximum: 32_767,
    description: "that of the pool's key",
  }),
  hooks: addressText,
  stable: Type.Boolean({ description: 'what stable() of the pair says' }),
  index: place,
  quoteIndex: place,
  staleAfterSeconds: Type.Integer({
    minimum: 60,
    description: 'the age from which an answer no longer counts as a price',
  }),
  decimals: Type.Integer({
    minimum: 0,
    maximum: 36,
    description: "the decimals of the feed's answers, usually 8",
  }),
  usd: decimalText,
}

export type PriceValues = Static<TObject<typeof priceFields>>

type Name = keyof PriceValues

type OfContract = 'chain' | 'address'

interface ContractKind<Kind extends string, Field extends Name, Option extends Name> {
  readonly kind: Kind
  readonly events: readonly AbiEvent[]
  /** Required besides those of every contract. */
  readonly fields: readonly Field[]
  readonly options?: readonly Option[]
  /** What the reference of the file says of fields that other kinds lack. */
  readonly meanings?: Readonly<Record<string, string>>
  /** Pairs have the wrapped token in place of the coin. */
  resolve(
    resolver: Resolver,
    price: Pick<PriceValues, Field> & { readonly [Each in Option]?: PriceValues[Each] },
    contract: Pick<ContractPrice, OfContract>,
  ): Omit<ContractPrice, OfContract | 'kind' | 'field' | 'events' | 'quote' | 'since' | 'floor'>
}

/** A kind of price that the events of a contract state. */
export function defineContractPrice<
  const Kind extends string,
  Field extends Name,
  Option extends Name = never,
>(definition: ContractKind<Kind, Field, Option>) {
  const { kind, events, meanings = {} } = definition
  const fields: readonly Name[] = ['chain', 'address', ...definition.fields]
  const options: readonly Name[] = definition.options ?? []
  return {
    ...{ kind, fields, options, meanings },
    /** Null for an unknown chain; a wrong address is reported and stands as the zero address. */
    resolve(resolver: Resolver, given: Partial<PriceValues>) {
      const price = given as Pick<PriceValues, Name>
      const chain = resolver.chain('chain', price.chain)
      const address = resolver.address('address', price.address)
      const contract = { chain: chain ?? { ...STAND_IN, name: price.chain }, address }
      const wrap = wrapIn(resolver, contract.chain, given.wrapped)
      const { read, prove, topics, ...own } = definition.resolve(resolver, price, contract)
      const { quote = null, minLiquidityUsd } = given
      const floor =
        minLiquidityUsd === undefined ? null : resolver.dollars('minLiquidityUsd', minLiquidityUsd)
      const source = {
        ...{ kind, ...contract, ...own, quote, floor, events },
        ...(topics && { topics: (pair: PricePair) => topics(wrap(pair)) }),
        read: (args: EventArguments, pair: PricePair) => read(args, wrap(pair)),
        prove: (ask: AskView, pair: ProvenPair) => prove(ask, wrap(pair)),
      }
      return chain === undefined ? null : source
    },
  }
}

/** Puts the wrapped token in place of the coin, on either side of a pair. */
function wrapIn(resolver: Resolver, { name }: Chain, wrapped: string | undefined) {
  if (wrapped === undefined) return <Pair extends PricePair>(pair: Pair) => pair
  const addresses = new Map([[name, resolver.address('wrapped', wrapped)]])
  const standIn = <Side extends PricedToken | null>(side: Side): Side =>
    side?.addresses.get(name) === COIN_ADDRESS ? { ...side, addresses } : side
  return <Pair extends PricePair>(pair: Pair): Pair => {
    return { ...pair, token: standIn(pair.token), quote: standIn(pair.quote) }
  }
}
