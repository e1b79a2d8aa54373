import assert from 'node:assert/strict'
import { type Address, parseAddress, ZERO_ADDRESS } from '#base/address.ts'
import { parseDecimal } from '#base/money.ts'
import { DEFAULT_QUOTAS } from '#base/tier.ts'
import { COIN_ADDRESS } from '#base/token.ts'
import { type EventSources, eventKinds } from '#data/kinds.ts'
import type { Shaped } from './check-shape.ts'
import type { Chain, Ecosystem, PricedToken } from './ecosystem.ts'
import type { EcosystemFile } from './ecosystem-file.ts'
import { Problems } from './problem.ts'
import { resolveBridges } from './resolve-bridges.ts'
import { resolvePayment } from './resolve-payment.ts'
import { checkPrices, resolvePrices } from './resolve-price.ts'
import { resolveTiers } from './resolve-tiers.ts'
import type { Resolver } from './resolver.ts'

/**
 * Reports every mistake and returns undefined if there are any; references to invalid entries are
 * not reported again.
 */
export function resolveEcosystem(
  { file, places, left }: Shaped,
  problems: Problems,
): Ecosystem | undefined {
  const found = new Problems()
  const ecosystem = resolveShaped(file, left, found)
  for (const { field, message } of found.list) problems.add(inFile(field, places), message)
  return problems.list.length > 0 ? undefined : ecosystem
}

/** Resolves a checked file again, on another thread. */
export function resolveAgain(file: EcosystemFile): Ecosystem {
  const ecosystem = resolveShaped(file, {}, new Problems())
  assert(ecosystem !== undefined, 'the ecosystem file was checked before')
  return ecosystem
}

/** Maps a kept entry to its index in the operator's file. */
function inFile(field: string, places: Shaped['places']): string {
  return field.replace(/^([A-Za-z]+)\[([0-9]+)\]/, (whole, part: string, index: string) => {
    const place = places[part]?.[Number(index)]
    return place === undefined ? whole : `${part}[${place}]`
  })
}

function resolveShaped(
  file: EcosystemFile,
  left: Shaped['left'],
  problems: Problems,
): Ecosystem | undefined {
  const chains = new Map<string, Chain>()
  const tokens = new Map<string, PricedToken>()
  const resolver = makeResolver({ problems, left }, { file, chains, tokens })
  resolveChains(file, chains, problems)
  resolveTokens(file, resolver, tokens)
  const listed = [...tokens.values()]
  checkPrices(resolver, listed)
  const primary = primaryOf(listed, resolver)
  const secondary = secondaryOf(listed, problems)
  const supply = resolveSupply(file, resolver)
  const ecosystem = {
    file,
    service: resolveService(file),
    chains: [...chains.values()],
    tokens: listed,
    ...supply,
    ...resolveEvents(file, resolver, supply),
    bridges: resolveBridges(resolver, file.tokens),
    secondary,
    payment: resolvePayment(file, resolver),
    ...resolveTiers(file, resolver, { primary, secondary, listed, chains: [...chains.values()] }),
    quotas: { ...DEFAULT_QUOTAS, ...file.quotas },
    pricePerCall: resolvePricePerCall(file, problems),
  }
  return primary && { ...ecosystem, primary }
}

const PRICE_PER_CALL_USD = '0.0001'

function makeResolver(
  { problems, left }: { readonly problems: Problems; readonly left: Shaped['left'] },
  {
    file,
    chains,
    tokens,
  }: {
    readonly file: EcosystemFile
    readonly chains: ReadonlyMap<string, Chain>
    readonly tokens: ReadonlyMap<string, PricedToken>
  },
): Resolver {
  return {
    problems,
    hasInvalidPrice: ({ symbol }) =>
      tokens.get(symbol.toUpperCase())?.prices.length === 0 &&
      file.tokens.some((token) => token.symbol === symbol && token.price !== undefined),
    isLeftOut: (part) => (left[part] ?? []).length > 0,
    chain(field, name) {
      const chain = chains.get(name)
      if (chain !== undefined) return chain
      if (isAmong(left.chains, 'name', name)) return { ...STAND_IN, name }
      const known = [...chains.keys()].join(', ')
      return problems.add(field, `unknown chain "${name}"; known: ${known}`)
    },
    token(field, symbol) {
      const token = tokens.get(symbol.toUpperCase())
      if (token !== undefined || isAmong(left.tokens, 'symbol', symbol)) return token
      const known = [...tokens.values()].map((each) => each.symbol).join(', ')
      return problems.add(field, `unknown token "${symbol}"; known: ${known}`)
    },
    tokenAt: (chain, address) =>
      [...tokens.values()].find(({ addresses }) => addresses.get(chain.name) === address),
    tokensOn(chain) {
      const listed = new Map<Address, string>()
      for (const { symbol, addresses } of tokens.values()) {
        const address = addresses.get(chain.name)
        if (address !== undefined) listed.set(address, symbol)
      }
      return listed
    },
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

/** Replaces an invalid chain, so that references to it can still be checked. */
const STAND_IN: Omit<Chain, 'name'> = {
  id: 0,
  rpcUrls: [],
  explorerUrl: null,
  startBlock: 0,
  pollIntervalMs: 1_000,
  finality: 'tag',
  staleAfterSeconds: 60,
  proofs: 'deposits',
}

/** Whether an entry that was left out as invalid has this name, or none that can be read. */
function isAmong(left: readonly unknown[] = [], member: string, name: string): boolean {
  return left.some((entry) => {
    const own = Object.entries(Object(entry)).find(([key]) => key === member)?.[1]
    return typeof own !== 'string' || own.toUpperCase() === name.toUpperCase()
  })
}

function resolveChains(file: EcosystemFile, chains: Map<string, Chain>, problems: Problems): void {
  for (const [index, chain] of file.chains.entries()) {
    if (chains.has(chain.name))
      problems.add(`chains[${index}].name`, `"${chain.name}" appears twice`)
    if ([...chains.values()].some((each) => each.id === chain.id))
      problems.add(`chains[${index}].id`, `${chain.id} appears twice`)
    chains.set(chain.name, {
      ...chain,
      rpcUrls: distinctUrls(chain.rpcUrls),
      explorerUrl: chain.explorerUrl?.replace(/\/+$/, '') ?? null,
      proofs: chain.proofs ?? 'every',
    })
  }
}

/** Drops spellings of the same endpoint, which would confirm itself. */
function distinctUrls(urls: readonly string[]): readonly string[] {
  const names = urls.map(normalized)
  return urls.filter((_, index) => names.indexOf(names[index] ?? '') === index)
}

function normalized(text: string): string {
  const url = URL.parse(text)
  if (url === null) return text
  url.pathname = url.pathname.replace(/\/+$/, '')
  url.hash = ''
  return url.href
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
      const place = `${field}.addresses.${name}`
      const address =
        text === 'native' ? resolveCoin(resolver, place, token) : resolver.address(place, text)
      if (chain !== undefined) addresses.set(chain.name, address)
    }
    const { price, bridges: _, ...facts } = token
    const prices = resolvePrices(resolver, `${field}.price`, price)
    tokens.set(token.symbol.toUpperCase(), { ...facts, addresses, prices })
  }
}

/** Its transfers leave no logs. */
function resolveCoin(
  { problems }: Resolver,
  field: string,
  { role, decimals, bridges }: EcosystemFile['tokens'][number],
): Address {
  if (role !== 'reward')
    problems.add(
      field,
      `"native" can only be a reward token, not ${role}: balances, supply and burns are read from logs of transfers, which the coin does not have`,
    )
  if (decimals !== COIN_DECIMALS)
    problems.add(field, `the native coin has ${COIN_DECIMALS} decimals; write "decimals": 18`)
  if (bridges !== undefined) problems.add(field, 'the native coin has no bridges here; remove them')
  return COIN_ADDRESS
}

const COIN_DECIMALS = 18

function primaryOf(
  tokens: readonly PricedToken[],
  { problems, isLeftOut }: Resolver,
): PricedToken | undefined {
  const found = tokens.filter((token) => token.role === 'primary')
  if (found.length === 1) return found[0]
  if (tokens.length === 0 || (found.length === 0 && isLeftOut('tokens'))) return undefined
  return problems.add(
    'tokens',
    `exactly one token must have the role "primary", found ${found.length}`,
  )
}

function secondaryOf(tokens: readonly PricedToken[], problems: Problems): PricedToken | null {
  const found = tokens.filter((token) => token.role === 'secondary')
  if (found.length > 1)
    problems.add('tokens', `at most one token may have the role "secondary", found ${found.length}`)
  return found[0] ?? null
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

function resolvePricePerCall(file: EcosystemFile, problems: Problems): bigint {
  const price = parseDecimal(file.pricePerCallUsd ?? PRICE_PER_CALL_USD, 6)
  if (price === undefined || price === 0n)
    problems.add('pricePerCallUsd', 'must be above 0 with at most 6 decimals, such as "0.0001"')
  return price ?? 1n
}
