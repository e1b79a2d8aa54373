import { type AbiEvent, from as eventFrom } from 'ox/AbiEvent'
import { from as functionFrom } from 'ox/AbiFunction'
import { Type } from 'typebox'
import { parseAddress, showAddress } from '#base/address.ts'
import type { Price } from '#base/money.ts'
import { tokenAddress } from '#base/token.ts'
import { argument } from '../event-arguments.ts'
import type { PriceReading } from '../priced-token.ts'
import { computePrice, poolFields, TRADE_MIN } from './pool.ts'
import { definePriceKind, resolveContract } from './price-kind.ts'

const coins = functionFrom('function coins(uint256) view returns (address)')

function tradedAt(price: Price): PriceReading {
  return { price, liquidity: null }
}

/** The most that a pool can have. */
const COINS_MAX = 8

const place = Type.Integer({
  minimum: 0,
  maximum: COINS_MAX - 1,
  description: 'its place in coins(), from 0',
})

/** A StableSwap pool of Curve or a fork, priced at its last trade of both tokens, fee included. */
export const curve = defineDialect(
  'curve',
  eventFrom(
    'event TokenExchange(address indexed buyer, int128 sold_id, uint256 tokens_sold, int128 bought_id, uint256 tokens_bought)',
  ),
)

/** CryptoSwap (Curve v2), whose ids are unsigned. */
export const curveCrypto = defineDialect(
  'curve-crypto',
  eventFrom(
    'event TokenExchange(address indexed buyer, uint256 sold_id, uint256 tokens_sold, uint256 bought_id, uint256 tokens_bought)',
  ),
)

/** CryptoSwap of the next generation (Twocrypto-NG, Tricrypto-NG), whose event has more fields. */
export const curveCryptoNg = defineDialect(
  'curve-crypto-ng',
  eventFrom(
    'event TokenExchange(address indexed buyer, uint256 sold_id, uint256 tokens_sold, uint256 bought_id, uint256 tokens_bought, uint256 fee, uint256 packed_price_scale)',
  ),
)

function defineDialect<const Kind extends string>(kind: Kind, event: AbiEvent) {
  return definePriceKind({
    kind,
    events: [event],
    fields: { ...poolFields, index: place, quoteIndex: place },
    meanings: {
      index: 'The place of the token itself in `coins()`, from 0.',
      quoteIndex: 'The place of `quote` in `coins()`.',
    },
    resolve(context, { quote, index, quoteIndex, ...price }) {
      const contract = resolveContract(context, price)
      if (index === quoteIndex)
        context.resolver.problems.add(
          `${context.field}.quoteIndex`,
          'is the place of the token itself',
        )
      if (contract === undefined) return null
      const { chain, address } = contract
      return {
        kind,
        ...contract,
        quote,
        ofLastTrade: true,
        events: [event],
        read(args, pair) {
          const [sold, bought] = [args.sold_id, args.bought_id].map(Number)
          const amountSold = argument.amount(args, 'tokens_sold')
          const amountBought = argument.amount(args, 'tokens_bought')
          if (amountSold < TRADE_MIN || amountBought < TRADE_MIN) return undefined
          if (sold === index && bought === quoteIndex)
            return tradedAt(computePrice(pair, amountSold, amountBought))
          if (sold === quoteIndex && bought === index)
            return tradedAt(computePrice(pair, amountBought, amountSold))
          return undefined
        },
        async prove(ask, { token, quote: other }) {
          const all = Array.from({ length: COINS_MAX }, (_, at) => ask(coins, [BigInt(at)]))
          const listed = (await Promise.all(all)).map((each) => {
            const coin = parseAddress(String(each).toLowerCase())
            return coin && tokenAddress(coin)
          })
          const places = [
            { field: 'index', at: index, token },
            { field: 'quoteIndex', at: quoteIndex, token: other },
          ]
          for (const { field, at, token: wanted } of places) {
            const own = wanted?.addresses.get(chain.name)
            const right = own === undefined ? -1 : listed.indexOf(own)
            if (own !== undefined && listed[at] === own) continue
            const remedy = right < 0 ? 'correct the kind or the address' : `write ${right}`
            const message = `the contract at ${showAddress(address)} on ${chain.name} has ${listed[at] ?? 'nothing'} as coins(${at}), not ${wanted?.symbol}; ${remedy}`
            return { field, message }
          }
          return undefined
        },
      }
    },
  })
}
