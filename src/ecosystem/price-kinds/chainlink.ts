import { from as eventFrom } from 'ox/AbiEvent'
import { from as functionFrom } from 'ox/AbiFunction'
import { type Address, parseAddress, showAddress, ZERO_ADDRESS } from '#base/address.ts'
import { PRICE_ONE } from '#base/money.ts'
import { argument, DecodeError } from '../event-arguments.ts'
import { FoundContracts } from '../found-contracts.ts'
import type { AskView } from '../priced-token.ts'
import { defineContractPrice } from './price-kind.ts'

const ANSWER = eventFrom(
  'event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt)',
)
/** Feeds are updated daily at least. */
const STALE_AFTER_SECONDS = 90_000

const phaseView = functionFrom('function phaseId() view returns (uint16)')
const aggregatorView = functionFrom('function phaseAggregators(uint16) view returns (address)')
const decimalsView = functionFrom('function decimals() view returns (uint8)')

/** A feed in US dollars with Chainlink's events, at the address of its proxy, or of an aggregator. */
export const chainlink = defineContractPrice({
  kind: 'chainlink',
  events: [ANSWER],
  fields: ['decimals'],
  options: ['staleAfterSeconds'],
  meanings: {
    decimals: 'Compared with the feed.',
    staleAfterSeconds:
      'The age from which an answer of the feed, or the last deposit or withdrawal of the vault, no longer counts as a price. Without it 90,000 for feeds, which are updated daily, and 604,800 for vaults.',
  },
  resolve(_, { decimals, staleAfterSeconds = STALE_AFTER_SECONDS }, { chain, address }) {
    // One of another scale that comes later is not followed: the price grows old instead of wrong.
    const isOfScale = async (ask: AskView, aggregator: Address) => {
      const found = await ask(decimalsView, undefined, aggregator)
      return typeof found !== 'number' || found === decimals
    }
    return {
      staleAfterSeconds,
      emitters: {
        found: new FoundContracts(chain.id, `feed ${address}`),
        address,
        async ask(ask) {
          const all = await askAggregators(ask, address)
          const isOwn = await Promise.all(all.map((each) => isOfScale(ask, each)))
          return all.filter((_, index) => isOwn[index])
        },
      },
      read(args) {
        const answer = argument.amount(args, 'current')
        if (answer <= 0n)
          throw new DecodeError(`the feed reported ${answer}; a price must be positive`)
        const usd = (answer * PRICE_ONE) / 10n ** BigInt(decimals)
        return { price: usd, liquidity: null }
      },
      async prove(ask) {
        const aggregators = await askAggregators(ask, address)
        if (aggregators.length === 0)
          return {
            field: 'address',
            message: `the feed at ${showAddress(address)} has phases but names no aggregator, so that nothing emits its price; correct the address`,
          }
        const found = await ask(decimalsView)
        const remedy = typeof found === 'number' ? `write ${found}, or correct` : 'correct'
        if (found !== decimals)
          return {
            field: 'decimals',
            message: `the feed at ${showAddress(address)} has ${found ?? 'no readable'} decimals, the file says ${decimals}; ${remedy} the address`,
          }
        for (const each of aggregators)
          if (!(await isOfScale(ask, each)))
            return {
              field: 'address',
              message: `an aggregator of the feed, ${showAddress(each)}, has other decimals than its ${decimals}; write a list of prices, one for each aggregator with its address, decimals and since`,
            }
        return undefined
      },
    }
  },
})

/** Bounds what a lying node makes us ask; a phase lasts for years. */
const PHASES_MAX = 100

/** Those of all phases of a proxy; an aggregator is its own. */
async function askAggregators(ask: AskView, address: Address): Promise<readonly Address[]> {
  const phase = await ask(phaseView)
  if (typeof phase !== 'number' || phase > PHASES_MAX) return [address]
  const ids = Array.from({ length: phase }, (_, index) => index + 1)
  const found = await Promise.all(ids.map((id) => ask(aggregatorView, [id])))
  const read = found.flatMap((each) => parseAddress(String(each).toLowerCase()) ?? [])
  return [...new Set(read)].filter((each) => each !== ZERO_ADDRESS)
}
