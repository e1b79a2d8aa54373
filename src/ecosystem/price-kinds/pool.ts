import { type AbiFunction, from } from 'ox/AbiFunction'
import { showAddress } from '#domain/address.ts'
import { PRICE_ONE, type Price } from '#domain/money.ts'
import { DecodeError } from '../event-arguments.ts'
import { symbol } from '../fields.ts'
import type { AskView, Chain, ContractPrice, PricedToken, PricePair } from '../priced-token.ts'
import type { Problem } from '../problem.ts'
import { contractFields } from './price-kind.ts'

/** What every pool has in the file. */
export const poolFields = {
  ...contractFields,
  quote: { ...symbol, description: "the symbol of the pool's other token" },
}

type Pool = Pick<ContractPrice, 'kind' | 'chain' | 'address'>

/** The price of a token against amounts of token and quote of equal value. */
export function priceOf({ token, quote }: PricePair, own: bigint, other: bigint): Price {
  return (
    (other * PRICE_ONE * 10n ** BigInt(token.decimals)) /
    (own * 10n ** BigInt(quoteOf({ quote }).decimals))
  )
}

/** As `priceOf`, of amounts in the order in which Uniswap sorts its tokens. */
export function sortedPriceOf(
  pair: PricePair,
  chain: Chain,
  [amount0, amount1]: readonly [bigint, bigint],
): Price {
  const isFirst = addressOn(chain, pair.token) < addressOn(chain, quoteOf(pair))
  return isFirst ? priceOf(pair, amount0, amount1) : priceOf(pair, amount1, amount0)
}

function quoteOf({ quote }: Pick<PricePair, 'quote'>): PricedToken {
  if (quote === null) throw new DecodeError('a pool price needs a quote')
  return quote
}

function addressOn(chain: Chain, token: PricedToken): string {
  return token.addresses.get(chain.name) ?? ''
}

const token0 = from('function token0() view returns (address)')
const token1 = from('function token1() view returns (address)')

/** `state` tells the versions of Uniswap apart. */
export async function proveUniswapPool(
  pool: Pool,
  { ask, pair, state }: { readonly ask: AskView; readonly pair: PricePair; state: AbiFunction },
): Promise<Problem | undefined> {
  const { kind, chain, address } = pool
  const [stateNow, ...found] = await Promise.all([ask(state), ask(token0), ask(token1)])
  if (stateNow === undefined)
    return {
      field: 'kind',
      message: `${showAddress(address)} on ${chain.name} has no ${state.name}(), so it is not a ${kind} pool; correct the kind or the address`,
    }
  const wanted = [pair.token, quoteOf(pair)].map((token) => addressOn(chain, token))
  const same = found.map((each) => String(each).toLowerCase()).sort()
  if (same.join() === wanted.sort().join()) return undefined
  return {
    field: 'address',
    message: `the pool at ${showAddress(address)} is of ${found.join(' and ')}, not of ${pair.token.symbol} and ${quoteOf(pair).symbol}; correct the address or the quote`,
  }
}
