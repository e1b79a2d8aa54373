import { from as eventFrom } from 'ox/AbiEvent'
import { from as functionFrom } from 'ox/AbiFunction'
import { showAddress } from '#base/address.ts'
import { DAY_SECONDS } from '#base/time.ts'
import { argument } from '../event-arguments.ts'
import { readTrade } from './pool.ts'
import { defineContractPrice } from './price-kind.ts'

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
export const erc4626 = defineContractPrice({
  kind: 'erc4626',
  events,
  fields: ['quote'],
  options: ['staleAfterSeconds'],
  resolve: (_, { quote, staleAfterSeconds = STALE_AFTER_SECONDS }, { chain, address }) => ({
    ofLastTrade: true,
    staleAfterSeconds,
    read: (args, pair) =>
      readTrade(pair, argument.amount(args, 'shares'), argument.amount(args, 'assets')),
    async prove(ask, pair) {
      const found = String((await ask(asset)) ?? 'nothing').toLowerCase()
      if (found === pair.quote?.addresses.get(chain.name)) return undefined
      return {
        field: 'quote',
        message: `the vault at ${showAddress(address)} on ${chain.name} has ${found} as asset(), which is not ${quote}; write the symbol of its asset, or correct the address`,
      }
    },
  }),
})
