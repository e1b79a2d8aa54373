import { from as eventFrom } from 'ox/AbiEvent'
import { from as functionFrom } from 'ox/AbiFunction'
import { showAddress } from '#domain/address.ts'
import { Type } from '#lib/type.ts'
import { argument } from '../event-arguments.ts'
import { poolFields, priceOf } from './pool.ts'
import { definePriceKind, resolveContract } from './price-kind.ts'

/** StableSwap pools; those of Curve v2 have unsigned ids, and so another event. */
const EXCHANGE = eventFrom(
  'event TokenExchange(address indexed buyer, int128 sold_id, uint256 tokens_sold, int128 bought_id, uint256 tokens_bought)',
)
const coins = functionFrom('function coins(uint256) view returns (address)')

/** In base units on either side: below this, rounding shows in the price. */
const TRADE_MIN = 1_000_000n

const place = Type.Integer({ minimum: 0, maximum: 7, description: 'its place in coins(), from 0' })

/** A StableSwap pool of Curve or a fork: what the last trade of both tokens paid, fee included. */
export const curve = definePriceKind({
  kind: 'curve',
  fields: { ...poolFields, index: place, quoteIndex: place },
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
      kind: 'curve',
      ...contract,
      quote,
      ofLastTrade: true,
      event: EXCHANGE,
      facts: { index, quoteIndex },
      read(args, pair) {
        const [sold, bought] = [args.sold_id, args.bought_id].map(Number)
        const amountSold = argument.amount(args, 'tokens_sold')
        const amountBought = argument.amount(args, 'tokens_bought')
        if (amountSold < TRADE_MIN || amountBought < TRADE_MIN) return undefined
        if (sold === index && bought === quoteIndex) return priceOf(pair, amountSold, amountBought)
        if (sold === quoteIndex && bought === index) return priceOf(pair, amountBought, amountSold)
        return undefined
      },
      async prove(ask, { token, quote: other }) {
        const places = [
          { field: 'index', at: index, token },
          { field: 'quoteIndex', at: quoteIndex, token: other },
        ]
        for (const { field, at, token: wanted } of places) {
          const coin = await ask(coins, [BigInt(at)])
          if (coin === undefined)
            return {
              field,
              message: `the contract at ${showAddress(address)} on ${chain.name} has no coins(${at}); correct the place, the kind or the address`,
            }
          if (String(coin).toLowerCase() !== wanted?.addresses.get(chain.name))
            return {
              field,
              message: `coins(${at}) of the pool at ${showAddress(address)} is ${coin}, not ${wanted?.symbol}; correct the place or the address`,
            }
        }
        return undefined
      },
    }
  },
})
