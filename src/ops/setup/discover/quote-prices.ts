import { parseAddress, showAddress } from '#base/address.ts'
import type { PriceFile } from '#ecosystem/price-kinds.ts'
import { ask, type ChainView } from './chain-view.ts'
import { type Around, depthOf, findPools, floorOf, type Pool } from './pools.ts'
import { readNewest } from './read-price.ts'
import type { TokenFacts } from './token-facts.ts'

export interface QuotePrice {
  readonly token: TokenFacts
  readonly price: PriceFile
  readonly usd: number
  readonly evidence: string
}

const STABLE = /^(USDC|USDT|DAI|USDbC|BUSD|USDS|PYUSD)(\.[a-z]+)?$/i

/**
 * Prices a stablecoin at a dollar, a wrapped coin by its feed, any other token by its deepest stablecoin pool, followed by that stablecoin. Empty if none is found.
 */
export async function priceQuote(
  view: ChainView,
  token: TokenFacts,
  around: Around,
): Promise<readonly QuotePrice[]> {
  if (STABLE.test(token.symbol)) return [priceStable(view, token)]
  const feed = await readFeed(view, token, around.firstBlock)
  return feed === undefined ? poolPrice(view, token, around) : [feed]
}

function priceStable(view: ChainView, token: TokenFacts): QuotePrice {
  const isProven = isKnownUsdc(view, token)
  const evidence = isProven
    ? `Circle's USDC on ${view.name}`
    : 'taken for a stablecoin by its symbol: check the address'
  return { token, price: { kind: 'fixed', usd: '1' }, usd: 1, evidence }
}

function isKnownUsdc({ known }: ChainView, { address }: TokenFacts): boolean {
  return known?.usdc.toLowerCase() === address
}

async function readFeed(
  view: ChainView,
  token: TokenFacts,
  firstBlock: number,
): Promise<QuotePrice | undefined> {
  const { known } = view
  if (known === undefined || known.wrapped.toLowerCase() !== token.address) return undefined
  const proxy = parseAddress(known.wrappedFeed.toLowerCase())
  if (proxy === undefined) return undefined
  const [decimals, answer, description] = await Promise.all([
    ask(view, proxy, 'decimals() view returns (uint8)'),
    ask(view, proxy, 'latestAnswer() view returns (int256)'),
    ask(view, proxy, 'description() view returns (string)'),
  ])
  const isRight = typeof description === 'string' && description.endsWith('/ USD')
  if (!isRight || typeof decimals !== 'number') return undefined
  if (typeof answer !== 'bigint' || answer <= 0n) return undefined
  const price = { kind: 'chainlink', address: showAddress(proxy), decimals } as const
  if ((await readNewest(view, { price, token, firstBlock })) === undefined) return undefined
  return {
    token,
    price: { ...price, chain: view.name },
    usd: Number(answer) / 10 ** decimals,
    evidence: `Chainlink's feed "${description}", whose aggregators are followed`,
  }
}

async function poolPrice(
  view: ChainView,
  token: TokenFacts,
  around: Around,
): Promise<readonly QuotePrice[]> {
  const pools = await findPools(view, token, around)
  const stable = pools.filter(({ quote }) => STABLE.test(quote.symbol))
  const [deepest] = stable.sort((a, b) => depthOf(b) - depthOf(a))
  const usd = deepest && (await spotUsd(view, token, deepest))
  if (deepest === undefined || usd === undefined) return []
  const { kind, quote } = deepest
  const floor = floorOf(deepest, 1)
  const address = showAddress(deepest.address)
  const held = `its deepest pool: about ${Math.round(depthOf(deepest))} USD of ${quote.symbol} in it`
  const stablecoin = priceStable(view, quote)
  const own = {
    token,
    price: { kind, chain: view.name, address, quote: quote.symbol, ...floor.member },
    usd,
    evidence: `${held}; ${floor.evidence}`,
  }
  return [own, stablecoin]
}

async function spotUsd(view: ChainView, token: TokenFacts, pool: Pool) {
  const own = await ask(view, token.address, 'balanceOf(address) view returns (uint256)', [
    pool.address,
  ])
  if (typeof own !== 'bigint' || own === 0n) return undefined
  return depthOf(pool) / (Number(own) / 10 ** token.decimals)
}
