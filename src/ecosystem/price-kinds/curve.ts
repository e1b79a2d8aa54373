import { type AbiEvent, from as eventFrom } from 'ox/AbiEvent'
import { from as functionFrom } from 'ox/AbiFunction'
import { parseAddress, showAddress } from '#base/address.ts'
import { tokenAddress } from '#base/token.ts'
import { argument } from '../event-arguments.ts'
import { readTrade } from './pool.ts'
import { COINS_MAX, defineContractPrice } from './price-kind.ts'

const coins = functionFrom('function coins(uint256) view returns (address)')

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
  return defineContractPrice({
    kind,
    events: [event],
    fields: ['quote', 'index', 'quoteIndex'],
    meanings: {
      index: 'The place of the token itself in `coins()`, from 0.',
      quoteIndex: 'The place of `quote` in `coins()`.',
    },
    resolve(resolver, { index, quoteIndex }, { chain, address }) {
      if (index === quoteIndex) resolver.report('quoteIndex', 'is the place of the token itself')
      return {
        ofLastTrade: true,
        read(args, pair) {
          const [sold, bought] = [args.sold_id, args.bought_id].map(Number)
          const amountSold = argument.amount(args, 'tokens_sold')
          const amountBought = argument.amount(args, 'tokens_bought')
          if (sold === index && bought === quoteIndex)
            return readTrade(pair, amountSold, amountBought)
          if (sold === quoteIndex && bought === index)
            return readTrade(pair, amountBought, amountSold)
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
