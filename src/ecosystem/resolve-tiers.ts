import { parseDecimal } from '#base/money.ts'
import { type ShareTier, shareTiers } from '#base/tier.ts'
import type { Chain, Ecosystem, HoldingGate, PricedToken, SupplyShare } from './ecosystem.ts'
import type { EcosystemFile } from './ecosystem-file.ts'
import { type PriceSource, quoteOf } from './priced-token.ts'
import type { Resolver } from './resolver.ts'

interface Tokens {
  readonly primary: PricedToken | undefined
  readonly secondary: PricedToken | null
  readonly listed: readonly PricedToken[]
  readonly chains: readonly Chain[]
}

const DEPTH_BLOCKS = 10

export function resolveTiers(
  file: EcosystemFile,
  resolver: Resolver,
  tokens: Tokens,
): Pick<Ecosystem, 'gate' | ShareTier> {
  const gate = file.gate === 'open' ? 'open' : resolveGate(file.gate, resolver, tokens)
  const shares = shareTiers.map(({ name }) => [name, resolveShare(name, file, resolver, tokens)])
  return { gate, ...Object.fromEntries(shares) }
}

function resolveGate(
  gate: Exclude<EcosystemFile['gate'], 'open'>,
  resolver: Resolver,
  { primary, secondary, listed }: Tokens,
): HoldingGate | null {
  if (gate === undefined) return null
  const { minimumUsd, depthBlocks, averagePriceMinutes } = gate
  const minimum = parseDecimal(minimumUsd, 6)
  if (minimum === undefined)
    resolver.problems.add(
      'gate.minimumUsd',
      'has more than 6 decimals; the smallest unit is a micro-dollar',
    )
  const chain = resolver.chain('gate.chain', gate.chain)
  if (chain === undefined) return null
  requireDepth(resolver, chain, 'gate.depthBlocks', depthBlocks)
  for (const token of [primary, secondary]) {
    if (!token) continue
    requireOn(resolver, token, chain, 'gate.chain')
    if (token.prices.length === 0 && !resolver.hasInvalidPrice(token))
      resolver.problems.add(
        'gate',
        `token ${token.symbol} has no price; add one, or remove the gate`,
      )
    const falsifiable = [...pricesOf(token, listed)].find((price) => 'ofLastTrade' in price)
    if (falsifiable !== undefined)
      resolver.problems.add(
        'gate',
        `the price of ${token.symbol} is that of the last trade (${falsifiable.kind}), which one transaction can falsify; price it otherwise, or remove the gate`,
      )
  }
  return { chain, minimum: minimum ?? 0n, depthBlocks, averagePriceMinutes }
}

/** Returns the prices on every path to US dollars. */
function pricesOf(token: PricedToken, listed: readonly PricedToken[]): ReadonlySet<PriceSource> {
  const prices = new Set<PriceSource>()
  const add = (each: PricedToken | undefined) => {
    for (const price of each?.prices ?? []) {
      if (prices.has(price)) continue
      prices.add(price)
      const quote = quoteOf(price)?.toUpperCase()
      add(listed.find(({ symbol }) => symbol.toUpperCase() === quote))
    }
  }
  add(token)
  return prices
}

function resolveShare(
  tier: ShareTier,
  file: EcosystemFile,
  resolver: Resolver,
  tokens: Tokens,
): SupplyShare | null {
  const share = file[tier]
  if (share === undefined) return null
  const token = tokenOf(tier, share.token, resolver, tokens)
  if (token === null) return null
  const ofGate = typeof file.gate === 'object' ? file.gate.depthBlocks : DEPTH_BLOCKS
  const depthBlocks = share.depthBlocks ?? ofGate
  for (const chain of tokens.chains)
    if (token.addresses.has(chain.name))
      requireDepth(resolver, chain, `${tier}.depthBlocks`, depthBlocks)
  return { token, supplyPerMille: share.supplyPerMille, depthBlocks }
}

function tokenOf(
  tier: ShareTier,
  named: string | undefined,
  resolver: Resolver,
  { primary, secondary }: Tokens,
): PricedToken | null {
  const symbol = named?.toUpperCase()
  const token =
    symbol === undefined
      ? secondary
      : ([primary, secondary].find((each) => each?.symbol.toUpperCase() === symbol) ?? null)
  if (token !== null || resolver.isLeftOut('tokens')) return token
  if (named !== undefined)
    return (
      resolver.problems.add(`${tier}.token`, 'must be the primary or the secondary token') ?? null
    )
  const problem = `needs a token with the role "secondary"; add one, name the primary as ${tier}.token, or remove ${tier}`
  return resolver.problems.add(tier, problem) ?? null
}

function requireOn({ problems }: Resolver, token: PricedToken, chain: Chain, field: string): void {
  if (!token.addresses.has(chain.name))
    problems.add(
      field,
      `token ${token.symbol} has no address on "${chain.name}"; add it under tokens or choose another chain`,
    )
}

/** Past balances are kept for non-final blocks only. */
function requireDepth(
  { problems }: Resolver,
  chain: Chain,
  field: string,
  depthBlocks: number,
): void {
  if (chain.finality !== 'tag' && chain.finality < depthBlocks)
    problems.add(
      field,
      `must be at most ${chain.finality}, the finality of "${chain.name}"; lower it or raise the finality`,
    )
}
