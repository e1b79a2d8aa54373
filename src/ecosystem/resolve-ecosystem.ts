import { type Address, parseAddress, ZERO_ADDRESS } from '#domain/address.ts'
import { isTracked } from '#domain/token.ts'
import { parseDecimal } from '#lib/decimal.ts'
import type { Chain, Ecosystem, Payment, PricedToken } from './ecosystem.ts'
import type { EcosystemFile } from './ecosystem-file.ts'
import { Problems } from './problem.ts'
import { resolveBurn, resolveDividend, resolveGraveDig } from './resolve-event.ts'
import { checkPrices, resolvePrice } from './resolve-price.ts'
import type { Resolver } from './resolver.ts'

/** Turns a well-shaped file into the ecosystem, or tells every mistake in it. */
export function resolveEcosystem(file: EcosystemFile): Ecosystem | Problems {
  const problems = new Problems()
  const chains = new Map<string, Chain>()
  const tokens = new Map<string, PricedToken>()
  const resolver = makeResolver(problems, chains, tokens)
  resolveChains(file, chains, problems)
  resolveTokens(file, resolver, tokens)
  const listed = [...tokens.values()]
  checkPrices(resolver, listed)
  const primary = theOne(listed, 'primary', problems)
  const secondary = theOne(listed, 'secondary', problems)
  const payment = resolvePayment(file, resolver)
  const gate = resolveGate(file, resolver)
  const premium = resolvePremium(file, resolver)
  const rest = {
    service: resolveService(file),
    chains: [...chains.values()],
    tokens: listed,
    ...resolveSupply(file, resolver),
    ...resolveEvents(file, resolver),
    quotas: file.quotas,
    pricePerCall: resolvePricePerCall(file, problems),
  }
  if (problems.list.length > 0) return problems
  if (!primary || !secondary || !payment || !gate || !premium) return problems
  const ecosystem = { ...rest, primary, secondary, payment, gate, premium }
  checkDecidingChains(ecosystem, problems)
  return problems.list.length > 0 ? problems : ecosystem
}

function makeResolver(
  problems: Problems,
  chains: ReadonlyMap<string, Chain>,
  tokens: ReadonlyMap<string, PricedToken>,
): Resolver {
  return {
    problems,
    chain: (field, name) =>
      chains.get(name) ??
      problems.add(
        field,
        `"${name}" is no chain of this file; known: ${[...chains.keys()].join(', ')}`,
      ),
    token: (field, symbol) =>
      tokens.get(symbol.toUpperCase()) ??
      problems.add(
        field,
        `"${symbol}" is no token of this file; known: ${[...tokens.values()].map((each) => each.symbol).join(', ')}`,
      ),
    address(field, text) {
      const address = parseAddress(text)
      if (address === undefined)
        problems.add(
          field,
          `${text} has a wrong checksum (EIP-55); copy the address again or write it in lower case`,
        )
      return address ?? ZERO_ADDRESS
    },
  }
}

function resolveChains(file: EcosystemFile, chains: Map<string, Chain>, problems: Problems): void {
  for (const [index, chain] of file.chains.entries()) {
    if (chains.has(chain.name))
      problems.add(`chains[${index}].name`, `"${chain.name}" appears twice`)
    if ([...chains.values()].some((each) => each.id === chain.id))
      problems.add(`chains[${index}].id`, `${chain.id} appears twice`)
    chains.set(chain.name, {
      ...chain,
      explorerUrl: chain.explorerUrl?.replace(/\/+$/, '') ?? null,
      proofs: chain.proofs ?? 'every',
    })
  }
}

function resolveTokens(
  file: EcosystemFile,
  resolver: Resolver,
  tokens: Map<string, PricedToken>,
): void {
  for (const [index, token] of file.tokens.entries()) {
    const field = `tokens[${index}]`
    if (tokens.has(token.symbol.toUpperCase()))
      resolver.problems.add(`${field}.symbol`, `"${token.symbol}" appears twice`)
    const addresses = new Map<string, Address>()
    for (const [name, text] of Object.entries(token.addresses)) {
      const chain = resolver.chain(`${field}.addresses.${name}`, name)
      const address = resolver.address(`${field}.addresses.${name}`, text)
      if (chain !== undefined) addresses.set(chain.name, address)
    }
    const price =
      token.price === undefined ? null : resolvePrice(resolver, `${field}.price`, token.price)
    tokens.set(token.symbol.toUpperCase(), { ...token, addresses, price })
  }
}

function theOne(
  tokens: readonly PricedToken[],
  role: 'primary' | 'secondary',
  problems: Problems,
): PricedToken | undefined {
  const found = tokens.filter((token) => token.role === role)
  if (found.length === 1) return found[0]
  return problems.add(
    'tokens',
    `exactly one token must have the role "${role}", found ${found.length}`,
  )
}

function resolveService(file: EcosystemFile): Ecosystem['service'] {
  const publicBaseUrl = file.service.publicBaseUrl.replace(/\/+$/, '')
  return {
    name: file.service.name,
    keyPrefix: file.service.keyPrefix,
    publicBaseUrl,
    pricingDocsUrl: file.service.pricingDocsUrl ?? `${publicBaseUrl}/scalar/v1#pricing`,
  }
}

function resolveSupply(file: EcosystemFile, resolver: Resolver) {
  const burnAddresses = file.supply.burnAddresses.map((text, index) =>
    resolver.address(`supply.burnAddresses[${index}]`, text),
  )
  const nonCirculating = file.supply.nonCirculating.map((each, index) =>
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

function resolvePayment(file: EcosystemFile, resolver: Resolver): Payment | undefined {
  const { payment } = file
  const chain = resolver.chain('payment.chain', payment.chain)
  const asset = resolver.address('payment.asset', payment.asset)
  const payTo = payment.payTo.map((each, index) => ({
    address: resolver.address(`payment.payTo[${index}].address`, each.address),
    since: each.since,
  }))
  for (const [index, each] of payTo.entries()) {
    const field = `payment.payTo[${index}].address`
    if (each.address === ZERO_ADDRESS)
      resolver.problems.add(field, 'is the zero address: payments to it would be lost')
    if (each.address === asset)
      resolver.problems.add(field, 'is the payment asset itself: payments to it would be lost')
    if ((payTo[index - 1]?.since ?? '') >= each.since)
      resolver.problems.add(
        `payment.payTo[${index}].since`,
        'must be later than the entry before; list the oldest first',
      )
  }
  if (payment.confirmations === 0 && chain !== undefined && !isLocal(chain))
    resolver.problems.add(
      'payment.confirmations',
      '0 is for development chains only; use 10 or more',
    )
  return (
    chain && { ...payment, chain, asset, payTo, decimals: 6, ...proofOf(file, resolver, chain) }
  )
}

const SECOND_OPINION_USD = '1000'

function proofOf({ payment }: EcosystemFile, { problems }: Resolver, chain: Chain) {
  const proof = payment.proof ?? 'receipts'
  const secondOpinion = parseDecimal(payment.secondOpinionUsd ?? SECOND_OPINION_USD, 6)
  if (secondOpinion === undefined)
    problems.add(
      'payment.secondOpinionUsd',
      'has more than 6 decimals; use micro-dollars at the finest',
    )
  if (proof === 'endpoints' && new Set(chain.rpcUrls).size < 2)
    problems.add(
      'payment.proof',
      `"endpoints" needs two rpcUrls that agree, "${chain.name}" has one; add another or use "receipts"`,
    )
  return { proof, secondOpinion: secondOpinion ?? 0n }
}

function resolveGate(file: EcosystemFile, resolver: Resolver): Ecosystem['gate'] | undefined {
  const { minimumUsd, depthBlocks, averagePriceMinutes } = file.gate
  const chain = resolver.chain('gate.chain', file.gate.chain)
  const minimum = parseDecimal(minimumUsd, 6)
  if (minimum === undefined)
    return resolver.problems.add(
      'gate.minimumUsd',
      'has more than 6 decimals; use micro-dollars at the finest',
    )
  return chain && { chain, minimum, depthBlocks, averagePriceMinutes }
}

function resolvePremium(file: EcosystemFile, resolver: Resolver): Ecosystem['premium'] | undefined {
  const chain = resolver.chain('premium.chain', file.premium.chain)
  return chain && { chain, supplyPerMille: file.premium.supplyPerMille }
}

function resolveEvents(
  file: EcosystemFile,
  resolver: Resolver,
): Pick<Ecosystem, 'burns' | 'dividends' | 'graveDigs'> {
  return {
    burns: present(file.burns.map((each, index) => resolveBurn(resolver, `burns[${index}]`, each))),
    dividends: present(
      file.dividends.map((each, index) => resolveDividend(resolver, `dividends[${index}]`, each)),
    ),
    graveDigs: present(
      file.graveDigs.map((each, index) => resolveGraveDig(resolver, `graveDigs[${index}]`, each)),
    ),
  }
}

function resolvePricePerCall(file: EcosystemFile, problems: Problems): bigint {
  const price = parseDecimal(file.pricePerCallUsd, 6)
  if (price === undefined || price === 0n)
    problems.add('pricePerCallUsd', 'must be above 0 with at most 6 decimals, such as "0.0001"')
  return price ?? 1n
}

/** The gate and the premium tier are decided by balances that must be followed there. */
function checkDecidingChains(ecosystem: Ecosystem, problems: Problems): void {
  const { primary, secondary, gate, premium } = ecosystem
  requireOn(problems, primary, gate.chain, 'gate.chain')
  requireOn(problems, secondary, gate.chain, 'gate.chain')
  requireOn(problems, secondary, premium.chain, 'premium.chain')
  for (const chain of [gate.chain, premium.chain]) requireDepth(problems, chain, gate.depthBlocks)
}

function requireOn(problems: Problems, token: PricedToken, chain: Chain, field: string): void {
  if (!token.addresses.has(chain.name))
    problems.add(
      field,
      `token ${token.symbol} has no address on "${chain.name}"; add it under tokens or choose another chain`,
    )
  if (!isTracked(token)) problems.add(field, `token ${token.symbol} is not followed`)
}

/** Balances in the past are known as far back as blocks are not final. */
function requireDepth(problems: Problems, chain: Chain, depthBlocks: number): void {
  if (chain.finality !== 'tag' && chain.finality < depthBlocks)
    problems.add(
      'gate.depthBlocks',
      `must be at most ${chain.finality}, the finality of "${chain.name}"; lower it or raise the finality`,
    )
}

function isLocal(chain: Chain): boolean {
  return chain.rpcUrls.every((each) =>
    ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(each).hostname),
  )
}

function present<T>(list: readonly (T | undefined)[]): T[] {
  return list.filter((each) => each !== undefined)
}
