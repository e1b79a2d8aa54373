import { type Address, parseAddress, showAddress, ZERO_ADDRESS } from '#base/address.ts'
import type { PriceFile } from '#ecosystem/price-kinds.ts'
import { askContract } from '#index/call-view.ts'
import { ask, type ChainView, readToken, type TokenFacts } from './chain-view.ts'

/** A token's price in the file, without the symbol of its quote. */
interface DraftedPrice {
  readonly token: TokenFacts
  readonly price: PriceFile
  readonly evidence: string
}

export interface FoundPrice {
  readonly usd: number
  /** Dollars in the pool; 0 without one. */
  readonly depthUsd: number
  /** The token, its quote, and what that is traded against. */
  readonly path: readonly DraftedPrice[]
}

const STABLE = /^(USDC|USDT|DAI|USDbC|BUSD|USDS|PYUSD)(\.[a-z]+)?$/i

/** A token is traded against a coin, and that against a stablecoin. */
const POOLS_MAX = 2

/**
 * Prices a stablecoin at a dollar, a wrapped coin by its feed, and any other token by its deepest pool whose quote has a
 * price.
 */
export async function findPrice(
  view: ChainView,
  token: TokenFacts,
  contracts: readonly Address[],
  poolsMax = POOLS_MAX,
): Promise<FoundPrice | undefined> {
  if (STABLE.test(token.symbol)) return priceStable(view, token)
  const feed = await readFeed(view, token)
  if (feed !== undefined || poolsMax === 0) return feed
  const pools = await findPools(view, token.address, contracts)
  const priced = await Promise.all(
    pools.map(async (pool) => {
      const quote = await findPrice(view, pool.quote, contracts, poolsMax - 1)
      return quote && priceByPool(view, token, pool, quote)
    }),
  )
  const [deepest] = priced
    .flatMap((each) => each ?? [])
    .sort((one, other) => other.depthUsd - one.depthUsd)
  return deepest
}

function priceStable(view: ChainView, token: TokenFacts): FoundPrice {
  const evidence =
    view.known?.usdc === token.address
      ? `Circle's USDC on ${view.name}`
      : 'taken for a stablecoin by its symbol: check the address'
  return { usd: 1, depthUsd: 0, path: [{ token, price: { kind: 'fixed', usd: '1' }, evidence }] }
}

async function readFeed(view: ChainView, token: TokenFacts): Promise<FoundPrice | undefined> {
  const { wrapped, wrappedFeed: proxy } = view.known ?? {}
  if (proxy === undefined || wrapped !== token.address) return undefined
  const [decimals, description, answer] = await Promise.all([
    ask(view, proxy, 'decimals() view returns (uint8)'),
    ask(view, proxy, 'description() view returns (string)'),
    ask(view, proxy, 'latestAnswer() view returns (int256)'),
  ])
  const isRight = typeof description === 'string' && description.endsWith('/ USD')
  if (!isRight || typeof decimals !== 'number' || typeof answer !== 'bigint') return undefined
  const address = showAddress(proxy)
  const price = { kind: 'chainlink', chain: view.name, address, decimals } as const
  const evidence = `Chainlink's feed "${description}", whose aggregators are followed`
  return { usd: Number(answer) / 10 ** decimals, depthUsd: 0, path: [{ token, price, evidence }] }
}

interface Pool {
  readonly kind: 'uniswap-v2' | 'uniswap-v3'
  readonly address: Address
  readonly quote: TokenFacts
  /** Base units of the quote for one of the token. */
  readonly ratio: number
  readonly quoteHeld: bigint
}

/** A pool below it has no price worth a floor. */
const POOL_USD_MIN = 1_000

function priceByPool(
  { name: chain }: ChainView,
  token: TokenFacts,
  { kind, address, quote, ratio, quoteHeld }: Pool,
  { usd: quoteUsd, path }: FoundPrice,
): FoundPrice {
  const depthUsd = (2 * Number(quoteHeld) * quoteUsd) / 10 ** quote.decimals
  const [digit = '', ...rest] = BigInt(Math.floor(depthUsd / 10)).toString()
  const hasFloor = depthUsd >= POOL_USD_MIN
  const why = hasFloor
    ? 'minLiquidityUsd is a tenth of that, rounded down'
    : 'without minLiquidityUsd, since any trade moves its price'
  const price = {
    kind,
    chain,
    address: showAddress(address),
    ...(hasFloor && { minLiquidityUsd: digit + '0'.repeat(rest.length) }),
  }
  const evidence = `the deepest pool: about ${Math.round(depthUsd)} USD in it; ${why}`
  const usd = ratio * quoteUsd * 10 ** (token.decimals - quote.decimals)
  return { usd, depthUsd, path: [{ token, price, evidence }, ...path] }
}

const V3_FEES = [100, 500, 3_000, 10_000]
const V3_VIEW = 'getPool(address, address, uint24) view returns (address)'

/** Pools that hold something, among these contracts and those of the chain's known factories. */
async function findPools(
  view: ChainView,
  token: Address,
  contracts: readonly Address[],
): Promise<readonly Pool[]> {
  const { wrapped, usdc, uniswapV2Factory: v2, uniswapV3Factory: v3 } = view.known ?? {}
  const quotes = [wrapped, usdc].filter((each) => each !== undefined)
  const made = await Promise.all(
    quotes.flatMap((quote) => [
      v2 && ask(view, v2, 'getPair(address, address) view returns (address)', [token, quote]),
      ...V3_FEES.map((fee) => v3 && ask(view, v3, V3_VIEW, [token, quote, fee])),
    ]),
  )
  const all = new Set([...contracts, ...made.flatMap((each) => toAddress(each) ?? [])])
  all.delete(ZERO_ADDRESS)
  const pools = await Promise.all([...all].map((address) => readPool(view, token, address)))
  return pools.flatMap((each) => (each !== undefined && each.quoteHeld > 0n ? each : []))
}

async function readPool(
  view: ChainView,
  token: Address,
  address: Address,
): Promise<Pool | undefined> {
  const [first, second] = await Promise.all([
    ask(view, address, 'token0() view returns (address)').then(toAddress),
    ask(view, address, 'token1() view returns (address)').then(toAddress),
  ])
  const other = first === token ? second : first
  if (other === undefined || (first !== token && second !== token)) return undefined
  const state = await readState(view, address)
  const quote = await readToken(view, other)
  if (state === undefined || quote === undefined) return undefined
  const quoteHeld = await askContract(view.source, quote.address, address, view.headNumber)
  const ratio = first === token ? state.ratio : 1 / state.ratio
  return { kind: state.kind, address, quote, ratio, quoteHeld }
}

const RESERVES = 'getReserves() view returns (uint112, uint112, uint32)'
const SLOT0 = 'slot0() view returns (uint160, int24, uint16, uint16, uint16, uint8, bool)'

/** Its kind, and how much of the second token is paid for the first. */
async function readState(view: ChainView, address: Address) {
  const reserves = await ask(view, address, RESERVES)
  if (Array.isArray(reserves))
    return { kind: 'uniswap-v2' as const, ratio: Number(reserves[1]) / Number(reserves[0]) }
  const slot0 = await ask(view, address, SLOT0)
  if (!Array.isArray(slot0)) return undefined
  return { kind: 'uniswap-v3' as const, ratio: (Number(slot0[0]) / 2 ** 96) ** 2 }
}

function toAddress(answer: unknown): Address | undefined {
  return parseAddress(String(answer).toLowerCase())
}
