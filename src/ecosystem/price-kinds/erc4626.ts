import { from as eventFrom } from 'ox/AbiEvent'
import { from as functionFrom } from 'ox/AbiFunction'
import { showAddress } from '#base/address.ts'
import { DAY_SECONDS } from '#base/time.ts'
import { argument } from '../event-arguments.ts'
import { computePrice, poolFields, TRADE_MIN } from './pool.ts'
import { agingOptions, definePriceKind, resolveContract } from './price-kind.ts'

const events = [
  eventFrom(
    'event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares)',
  ),
  eventFrom(
    'event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares)',
  ),
]
const asset = functionFrom('function asset() view returns (address)')

const STALE_AFTER_SECONDS = 7 * DAY_SECONDS

/** Shares of a vault (ERC-4626): what the last deposit or withdrawal paid for them, fees included. */
export const erc4626 = definePriceKind({
  kind: 'erc4626',
  events,
  fields: poolFields,
  options: agingOptions,
  resolve(context, { quote, staleAfterSeconds = STALE_AFTER_SECONDS, ...price }) {
    const contract = resolveContract(context, price)
    if (contract === undefined) return null
    return {
      kind: 'erc4626',
      ...contract,
      quote,
      ofLastTrade: true,
      staleAfterSeconds,
      events,
      read(args, pair) {
        const [shares, assets] = [argument.amount(args, 'shares'), argument.amount(args, 'assets')]
        if (shares < TRADE_MIN || assets < TRADE_MIN) return undefined
        return { price: computePrice(pair, shares, assets), liquidity: null }
      },
      async prove(ask, pair) {
        const found = String((await ask(asset)) ?? 'nothing').toLowerCase()
        const { chain, address } = contract
        if (found === pair.quote?.addresses.get(chain.name)) return undefined
        return {
          field: 'quote',
          message: `the vault at ${showAddress(address)} on ${chain.name} has ${found} as asset(), which is not ${quote}; write the symbol of its asset, or correct the address`,
        }
      },
    }
  },
})
