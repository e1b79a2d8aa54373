import { type Address, parseAddress, showAddress, ZERO_ADDRESS } from '#base/address.ts'
import { toUsdPrice } from '#base/money.ts'
import { type PriceFile, priceKinds } from '#ecosystem/price-kinds.ts'
import type { PricedToken } from '#ecosystem/priced-token.ts'
import { Problems } from '#ecosystem/problem.ts'
import { Resolver, STAND_IN } from '#ecosystem/resolver.ts'
import { askContract } from '#index/call-view.ts'
import { type FoundReading, findReading } from '#index/prove-prices.ts'
import { ask, type ChainView, readToken, type TokenFacts } from './chain-view.ts'

export interface Pool {
  readonly kind: 'uniswap-v2' | 'uniswap-v3'
  readonly address: Address
  readonly quote: TokenFacts
  readonly quoteHeld: bigint
  /** Its newest event. */
  readonly newest: Newest
}

export interface Around {
  /** Where pools may be, besides the chain's known factories. */
  readonly contracts: readonly Address[]
  readonly firstBlock: number
}

const V3_FEES = [100, 500, 3_000, 10_000]

/** Pools of the token that hold something, and of which an event could be read. */
export async function findPools(
  view: ChainView,
  token: TokenFacts,
  { contracts, firstBlock }: Around,
): Promise<readonly Pool[]> {
  const made = await askFactories(view, token.address)
  const all = [...new Set([...contracts, ...made])]
  const pools = await Promise.all(
    all.map(async (address) => {
      const pool = await readPool(view, token.address, address)
      if (pool === undefined) return undefined
      const { kind, quote } = pool
      const newest = await readNewest(view, { price: { kind, address }, token, quote, firstBlock })
      return newest && { ...pool, newest }
    }),
  )
  return pools.flatMap((each) => (each !== undefined && each.quoteHeld > 0n ? each : []))
}

export interface Floor {
  /** Member to add to the price in the file. */
  readonly member: { readonly minLiquidityUsd?: string }
  readonly evidence: string
}

/** A pool below it has no price worth a floor. */
const POOL_USD_MIN = 1_000

/** A tenth of what an event shows in the pool, in one significant digit. */
export function proposeFloor(
  { newest, quote }: Pick<Pool, 'newest' | 'quote'>,
  quoteUsd: number,
): Floor {
  const usd = (Number(newest.reading.liquidity) / 10 ** quote.decimals) * quoteUsd
  const seen = `its event in block ${newest.block} shows about ${Math.round(usd)} USD in it`
  if (usd < POOL_USD_MIN)
    return {
      member: {},
      evidence: `without minLiquidityUsd, since ${seen}: any trade moves its price`,
    }
  const [digit = '', ...rest] = BigInt(Math.floor(usd / 10)).toString()
  return {
    member: { minLiquidityUsd: digit + '0'.repeat(rest.length) },
    evidence: `minLiquidityUsd is a tenth of what the pool holds, rounded down: ${seen}`,
  }
}

/** Asks the chain's known factories. */
async function askFactories(view: ChainView, token: Address): Promise<readonly Address[]> {
  const { wrapped, usdc, uniswapV2Factory: v2, uniswapV3Factory: v3 } = view.known ?? {}
  const quotes = [wrapped, usdc].filter((each) => each !== undefined)
  const found = await Promise.all(
    quotes.flatMap((quote) => [
      v2 && ask(view, v2, 'getPair(address, address) view returns (address)', [token, quote]),
      ...V3_FEES.map((fee) => v3 && ask(view, v3, V3_VIEW, [token, quote, fee])),
    ]),
  )
  const pools = found.flatMap((each) => parseAddress(String(each).toLowerCase()) ?? [])
  return pools.filter((each) => each !== ZERO_ADDRESS)
}

const V3_VIEW = 'getPool(address, address, uint24) view returns (address)'

async function readPool(
  view: ChainView,
  token: Address,
  address: Address,
): Promise<Omit<Pool, 'newest'> | undefined> {
  const sides = await Promise.all(
    ['token0', 'token1'].map((name) => ask(view, address, `${name}() view returns (address)`)),
  )
  const [first, second] = sides.map((each) => String(each).toLowerCase())
  if (first !== token && second !== token) return undefined
  const other = parseAddress((first === token ? second : first) ?? '')
  const kind = await findKind(view, address)
  const quote = other && (await readToken(view, other))
  if (kind === undefined || quote === undefined) return undefined
  const quoteHeld = await askContract(view.source, quote.address, address, view.headNumber)
  return { kind, address, quote, quoteHeld }
}

async function findKind(view: ChainView, address: Address): Promise<Pool['kind'] | undefined> {
  const reserves = 'getReserves() view returns (uint112, uint112, uint32)'
  if ((await ask(view, address, reserves)) !== undefined) return 'uniswap-v2'
  const slot0 = 'slot0() view returns (uint160, int24, uint16, uint16, uint16, uint8, bool)'
  return (await ask(view, address, slot0)) === undefined ? undefined : 'uniswap-v3'
}

/** The quote's amount, in whole tokens. */
export function measureDepth({ quote, quoteHeld }: Pool): number {
  return Number(quoteHeld) / 10 ** quote.decimals
}

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
  const evidence =
    view.known?.usdc === token.address
      ? `Circle's USDC on ${view.name}`
      : 'taken for a stablecoin by its symbol: check the address'
  return { token, price: { kind: 'fixed', usd: '1' }, usd: 1, evidence }
}

async function readFeed(
  view: ChainView,
  token: TokenFacts,
  firstBlock: number,
): Promise<QuotePrice | undefined> {
  const { wrapped, wrappedFeed: proxy } = view.known ?? {}
  if (proxy === undefined || wrapped !== token.address) return undefined
  const [decimals, description] = await Promise.all([
    ask(view, proxy, 'decimals() view returns (uint8)'),
    ask(view, proxy, 'description() view returns (string)'),
  ])
  const isRight = typeof description === 'string' && description.endsWith('/ USD')
  if (!isRight || typeof decimals !== 'number') return undefined
  const price = { kind: 'chainlink', address: showAddress(proxy), decimals } as const
  const usd = (await readNewest(view, { price, token, firstBlock }))?.reading.price ?? null
  if (usd === null) return undefined
  return {
    token,
    price: { ...price, chain: view.name },
    usd: toUsdPrice(usd),
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
  const [deepest] = stable.sort((a, b) => measureDepth(b) - measureDepth(a))
  const price = deepest?.newest.reading.price ?? null
  if (deepest === undefined || price === null) return []
  const { kind, quote } = deepest
  const floor = proposeFloor(deepest, 1)
  const address = showAddress(deepest.address)
  const held = `its deepest pool: about ${Math.round(measureDepth(deepest))} USD of ${quote.symbol} in it`
  const stablecoin = priceStable(view, quote)
  const own = {
    token,
    price: { kind, chain: view.name, address, quote: quote.symbol, ...floor.member },
    usd: toUsdPrice(price),
    evidence: `${held}; ${floor.evidence}`,
  }
  return [own, stablecoin]
}

interface Candidate {
  readonly price: Omit<PriceFile, 'chain' | 'quote'>
  readonly token: TokenFacts
  /** Undefined for a feed in dollars. */
  readonly quote?: TokenFacts
  readonly firstBlock: number
}

type Newest = Extract<FoundReading, { kind: 'read' }>

/** The newest event of a possible source, as the index would read it; undefined if none was read. */
async function readNewest(
  { name: chain, id, source, headNumber: head }: ChainView,
  { price, token, quote, firstBlock: startBlock }: Candidate,
): Promise<Newest | undefined> {
  if (Math.max(token.decimals, quote?.decimals ?? 0) > DECIMALS_MAX) return undefined
  const resolver = new Resolver(new Problems(), {})
  resolver.chains.set(chain, { ...STAND_IN, name: chain, id, startBlock })
  const kind = priceKinds.find((each) => each.kind === price.kind)
  const entry = { ...price, chain, quote: quote?.symbol }
  const read = kind?.resolve({ resolver, field: 'price' }, entry) ?? null
  if (read === null || read.chain === null) return undefined
  const toToken = ({ address, ...facts }: TokenFacts): PricedToken => {
    const addresses = new Map([[chain, address]])
    return { ...facts, role: 'reward', addresses, prices: [] }
  }
  const pair = { token: toToken(token), quote: quote === undefined ? null : toToken(quote) }
  const found = await findReading(source, {
    price: { ...read, field: 'price', since: null },
    pair,
    head,
  })
  return found.kind === 'read' ? found : undefined
}

/** The most that the ecosystem file allows. */
const DECIMALS_MAX = 36
