import { from } from 'ox/AbiFunction'
import type { ChainSource } from '#chain/chain-source.ts'
import { showAddress } from '#domain/address.ts'
import type { Chain, Ecosystem, PricedToken, PriceSource } from '#ecosystem/ecosystem.ts'
import { callView } from './call-view.ts'
import { ProofError } from './proof-error.ts'

type SourceOf = (chain: Chain) => ChainSource

const VIEWS = {
  token0: from('function token0() view returns (address)'),
  token1: from('function token1() view returns (address)'),
  getReserves: from('function getReserves() view returns (uint112, uint112, uint32)'),
  slot0: from(
    'function slot0() view returns (uint160, int24, uint16, uint16, uint16, uint8, bool)',
  ),
  decimals: from('function decimals() view returns (uint8)'),
}

export function provePrices(ecosystem: Ecosystem, sourceOf: SourceOf): readonly Promise<void>[] {
  return ecosystem.tokens.map(async (token, index) => {
    const { price } = token
    const field = `tokens[${index}].price`
    if (price === null || price.kind === 'fixed') return
    if (price.kind === 'chainlink') await proveFeed(sourceOf(price.chain), field, price)
    else await provePool(sourceOf(price.chain), { field, token, price, ecosystem })
  })
}

async function proveFeed(
  source: ChainSource,
  field: string,
  feed: Extract<PriceSource, { kind: 'chainlink' }>,
): Promise<void> {
  const { address } = feed
  const decimals = await callView(source, { field, address, view: VIEWS.decimals })
  if (decimals !== feed.decimals)
    throw new ProofError(
      `${field}.decimals`,
      `the feed at ${showAddress(feed.address)} has ${decimals ?? 'no readable'} decimals, the file says ${feed.decimals}; correct the decimals or the address`,
    )
}

interface Pool {
  readonly field: string
  readonly token: PricedToken
  readonly price: Extract<PriceSource, { kind: 'uniswap-v2' | 'uniswap-v3' }>
  readonly ecosystem: Ecosystem
}

async function provePool(source: ChainSource, pool: Pool): Promise<void> {
  const { field, token, price, ecosystem } = pool
  const { chain, address } = price
  const state = price.kind === 'uniswap-v2' ? 'getReserves' : 'slot0'
  const views = [state, 'token0', 'token1'] as const
  const [stateNow, ...found] = await Promise.all(
    views.map((view) => callView(source, { field, address, view: VIEWS[view] })),
  )
  if (stateNow === undefined)
    throw new ProofError(
      `${field}.kind`,
      `${showAddress(address)} on ${chain.name} has no ${state}(), so it is not a ${price.kind} pool; correct the kind or the address`,
    )
  const quote = ecosystem.tokens.find(
    (each) => each.symbol.toUpperCase() === price.quote.toUpperCase(),
  )
  const wanted = [token.addresses.get(chain.name), quote?.addresses.get(chain.name)]
  const same = found.map((each) => String(each).toLowerCase()).sort()
  if (same.join() !== wanted.sort().join())
    throw new ProofError(
      `${field}.address`,
      `the pool at ${showAddress(address)} is of ${found.join(' and ')}, not of ${token.symbol} and ${price.quote}; correct the address or the quote`,
    )
}
