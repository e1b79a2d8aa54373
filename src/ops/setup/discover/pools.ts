import { type Address, parseAddress, ZERO_ADDRESS } from '#base/address.ts'
import { askContract } from '#index/token-contract.ts'
import { ask, type ChainView } from './chain-view.ts'
import { type Newest, readNewest } from './read-price.ts'
import { readToken, type TokenFacts } from './token-facts.ts'

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
  return pools.filter((each) => each !== undefined).filter(({ quoteHeld }) => quoteHeld > 0n)
}

export interface Floor {
  /** Member to add to the price in the file. */
  readonly member: { readonly minLiquidityUsd?: string }
  readonly evidence: string
}

/** A pool below it has no price worth a floor. */
const POOL_USD_MIN = 1_000

/** A tenth of what an event shows in the pool, in one significant digit. */
export function floorOf(
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

async function askFactories(view: ChainView, token: Address): Promise<readonly Address[]> {
  const { known } = view
  if (known === undefined) return []
  const quotes = [known.wrapped, known.usdc]
  const asked = quotes.flatMap((quote) => [
    askFactory(view, known.uniswapV2Factory, {
      view: 'getPair(address, address) view returns (address)',
      args: [token, quote],
    }),
    ...V3_FEES.map((fee) =>
      askFactory(view, known.uniswapV3Factory, {
        view: 'getPool(address, address, uint24) view returns (address)',
        args: [token, quote, fee],
      }),
    ),
  ])
  return (await Promise.all(asked)).filter((each) => each !== undefined)
}

async function askFactory(
  view: ChainView,
  factory: string | undefined,
  call: { readonly view: string; readonly args: readonly unknown[] },
): Promise<Address | undefined> {
  if (factory === undefined) return undefined
  const address = parseAddress(factory.toLowerCase())
  const found = address && (await ask(view, address, call.view, call.args))
  const pool = typeof found === 'string' ? parseAddress(found.toLowerCase()) : undefined
  return pool === ZERO_ADDRESS ? undefined : pool
}

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
  const kind = await kindOf(view, address)
  const quote = other && (await readToken(view, other))
  if (kind === undefined || quote === undefined) return undefined
  const quoteHeld = await askContract(view.source, quote.address, address, view.headNumber)
  return { kind, address, quote, quoteHeld }
}

async function kindOf(view: ChainView, address: Address): Promise<Pool['kind'] | undefined> {
  const reserves = 'getReserves() view returns (uint112, uint112, uint32)'
  if ((await ask(view, address, reserves)) !== undefined) return 'uniswap-v2'
  const slot0 = 'slot0() view returns (uint160, int24, uint16, uint16, uint16, uint8, bool)'
  return (await ask(view, address, slot0)) === undefined ? undefined : 'uniswap-v3'
}

/** The quote's amount, in whole tokens. */
export function depthOf({ quote, quoteHeld }: Pool): number {
  return Number(quoteHeld) / 10 ** quote.decimals
}
