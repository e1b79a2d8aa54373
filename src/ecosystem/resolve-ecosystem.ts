import { ZERO_ADDRESS } from '#base/address.ts'
import { parseDecimal } from '#base/money.ts'
import { DEFAULT_QUOTAS, type ShareTier, shareTiers } from '#base/tier.ts'
import { type EventSources, eventKinds } from '#data/kinds.ts'
import type { Shaped } from './check-shape.ts'
import type { Chain, Ecosystem, HoldingGate, Payment, SupplyShare } from './ecosystem.ts'
import type { EcosystemFile } from './ecosystem-file.ts'
import { findPath } from './priced-token.ts'
import type { Problems } from './problem.ts'
import { resolveBridges, resolveChains, resolveTokens } from './resolve-tokens.ts'
import { Resolver } from './resolver.ts'

/** Reports every mistake and returns undefined if there are any. */
export function resolveEcosystem(shaped: Shaped, problems: Problems): Ecosystem | undefined {
  const { file, left } = shaped
  const resolver = new Resolver(problems, left)
  resolveChains(resolver, file)
  resolveTokens(resolver, file)
  const { primary, secondary } = resolver
  const supply = resolveSupply(file, resolver)
  const ecosystem = {
    file,
    service: resolveService(file),
    chains: [...resolver.chains.values()],
    tokens: [...resolver.tokens.values()],
    ...supply,
    ...resolveEvents(file, resolver, supply),
    bridges: resolveBridges(resolver, file.tokens),
    secondary,
    payment: resolvePayment(file, resolver),
    ...resolveTiers(file, resolver),
    quotas: { ...DEFAULT_QUOTAS, ...file.quotas },
    pricePerCall: resolvePricePerCall(file, problems),
  }
  return primary && problems.list.length === 0 ? { ...ecosystem, primary } : undefined
}

function resolveService(file: EcosystemFile): Ecosystem['service'] {
  const publicBaseUrl = file.service.publicBaseUrl.replace(/\/+$/, '')
  return {
    name: file.service.name,
    keyPrefix: file.service.keyPrefix,
    publicBaseUrl,
    colors: file.service.colors ?? {},
    links: file.service.links ?? {},
    words: file.service.words ?? {},
    pricingDocsUrl: file.service.pricingDocsUrl ?? `${publicBaseUrl}/scalar/v1#pricing`,
  }
}

function resolveSupply(file: EcosystemFile, resolver: Resolver) {
  const { burnAddresses: burning = [], nonCirculating: held = [] } = file.supply ?? {}
  const burnAddresses = burning.map((text, index) =>
    resolver.address(`supply.burnAddresses[${index}]`, text),
  )
  const nonCirculating = held.map((each, index) =>
    resolver.address(`supply.nonCirculating[${index}].address`, each.address),
  )
  const both = nonCirculating.findIndex((address) => burnAddresses.includes(address))
  if (both >= 0)
    resolver.problems.add(
      `supply.nonCirculating[${both}]`,
      'is a burn address already; list it once',
    )
  return {
    burnAddresses: burnAddresses.filter((address) => address !== ZERO_ADDRESS),
    nonCirculating,
  }
}

function resolveEvents(
  file: EcosystemFile,
  resolver: Resolver,
  { burnAddresses }: Pick<Ecosystem, 'burnAddresses'>,
): EventSources {
  const lists = eventKinds.map(({ part, resolve }) => {
    const entries = file[part] ?? []
    const sources = entries.map((entry, index) =>
      resolve({ resolver, field: `${part}[${index}]`, burnAddresses }, entry),
    )
    return [part, sources.filter((source) => source !== undefined)]
  })
  return Object.fromEntries(lists)
}

const PRICE_PER_CALL_USD = '0.0001'

function resolvePricePerCall(file: EcosystemFile, problems: Problems): bigint {
  const price = parseDecimal(file.pricePerCallUsd ?? PRICE_PER_CALL_USD, 6)
  if (price === undefined || price === 0n)
    problems.add('pricePerCallUsd', 'must be above 0 with at most 6 decimals, such as "0.0001"')
  return price ?? 1n
}

/** Null without payments or after a problem. */
function resolvePayment(file: EcosystemFile, resolver: Resolver): Payment | null {
  const { payment } = file
  if (payment === undefined) return null
  const chain = resolver.chain('payment.chain', payment.chain)
  const asset = resolver.address('payment.asset', payment.asset)
  const payTo = payment.payTo.map((each, index) => ({
    address: resolver.address(`payment.payTo[${index}].address`, each.address),
    since: each.since,
  }))
  for (const [index, each] of payTo.entries()) {
    const field = `payment.payTo[${index}].address`
    if (each.address === ZERO_ADDRESS && BigInt(payment.payTo[index]?.address ?? 0) === 0n)
      resolver.problems.add(field, 'is the zero address: payments to it would be lost')
    if (each.address === asset)
      resolver.problems.add(field, 'is the payment asset itself: payments to it would be lost')
    if ((payTo[index - 1]?.since ?? '') >= each.since)
      resolver.problems.add(
        `payment.payTo[${index}].since`,
        'must be later than the entry before; list the oldest first',
      )
  }
  const isLocal = chain?.rpcUrls.every((each) => LOOPBACK.includes(new URL(each).hostname))
  if (payment.confirmations === 0 && chain !== undefined && !isLocal)
    resolver.problems.add(
      'payment.confirmations',
      '0 is for development chains only; use 10 or more',
    )
  checkFacilitator(payment, resolver)
  if (chain === undefined) return null
  return { ...payment, chain, asset, payTo, decimals: 6 }
}

/** Payments and the headers that authenticate us cross the network. */
function checkFacilitator(
  { settle }: NonNullable<EcosystemFile['payment']>,
  { problems }: Resolver,
): void {
  if (settle === undefined) return
  const url = URL.parse(settle.facilitator)
  if (url !== null && (url.username || url.password || url.search || url.hash)) {
    problems.add(
      'payment.settle.facilitator',
      'must have neither credentials nor a query; send keys by SEXTON_FACILITATOR_HEADERS_FILE',
    )
    return
  }
  const isSafe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.includes(url.hostname))
  if (!isSafe)
    problems.add(
      'payment.settle.facilitator',
      `must be an https URL (got "${settle.facilitator}"); http is for 127.0.0.1 only`,
    )
}

const LOOPBACK: readonly string[] = ['127.0.0.1', 'localhost', '[::1]']

const DEPTH_BLOCKS = 10

function resolveTiers(
  file: EcosystemFile,
  resolver: Resolver,
): Pick<Ecosystem, 'gate' | ShareTier> {
  const gate = file.gate === 'open' ? 'open' : resolveGate(file.gate, resolver)
  const shares = shareTiers.map(({ name }) => [name, resolveShare(name, file, resolver)])
  return { gate, ...Object.fromEntries(shares) }
}

function resolveGate(
  gate: Exclude<EcosystemFile['gate'], 'open'>,
  resolver: Resolver,
): HoldingGate | null {
  if (gate === undefined) return null
  const { problems, primary, secondary } = resolver
  const { minimumUsd, depthBlocks, averagePriceMinutes } = gate
  const minimum = parseDecimal(minimumUsd, 6)
  if (minimum === undefined)
    problems.add('gate.minimumUsd', 'has more than 6 decimals; the smallest unit is a micro-dollar')
  const chain = resolver.chain('gate.chain', gate.chain)
  if (chain === undefined) return null
  requireDepth(resolver, chain, 'gate.depthBlocks', depthBlocks)
  const listed = [...resolver.tokens.values()]
  for (const token of [primary, secondary]) {
    if (!token) continue
    const { symbol } = token
    if (!token.addresses.has(chain.name))
      problems.add(
        'gate.chain',
        `token ${symbol} has no address on "${chain.name}"; add it under tokens or choose another chain`,
      )
    if (token.prices.length === 0 && !resolver.wronglyPriced.has(token))
      problems.add('gate', `token ${symbol} has no price; add one, or remove the gate`)
    const prices = [...findPath(listed, token)].flatMap((each) => each.prices)
    const falsifiable = prices.find((price) => 'ofLastTrade' in price)
    if (falsifiable !== undefined)
      problems.add(
        'gate',
        `the price of ${symbol} is that of the last trade (${falsifiable.kind}), which one transaction can falsify; price it otherwise, or remove the gate`,
      )
  }
  return { chain, minimum: minimum ?? 0n, depthBlocks, averagePriceMinutes }
}

function resolveShare(
  tier: ShareTier,
  file: EcosystemFile,
  resolver: Resolver,
): SupplyShare | null {
  const share = file[tier]
  if (share === undefined) return null
  const { problems, primary, secondary } = resolver
  const named = share.token?.toUpperCase()
  const token =
    named === undefined
      ? secondary
      : [primary, secondary].find((each) => each?.symbol.toUpperCase() === named)
  if (!token) {
    if (resolver.isLeftOut('tokens')) return null
    if (named !== undefined)
      problems.add(`${tier}.token`, 'must be the primary or the secondary token')
    else
      problems.add(
        tier,
        `needs a token with the role "secondary"; add one, name the primary as ${tier}.token, or remove ${tier}`,
      )
    return null
  }
  const ofGate = typeof file.gate === 'object' ? file.gate.depthBlocks : DEPTH_BLOCKS
  const depthBlocks = share.depthBlocks ?? ofGate
  for (const chain of resolver.chains.values())
    if (token.addresses.has(chain.name))
      requireDepth(resolver, chain, `${tier}.depthBlocks`, depthBlocks)
  return { token, supplyPerMille: share.supplyPerMille, depthBlocks }
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
