import type { TSchema } from 'typebox'
import { type Address, ZERO_ADDRESS } from '#base/address.ts'
import { COIN_ADDRESS } from '#base/token.ts'
import type { EcosystemFile } from './ecosystem-file.ts'
import { argument } from './event-arguments.ts'
import { requireArguments, resolveEvent } from './event-kind.ts'
import type { EventSource } from './event-source.ts'
import { type PriceFile, priceKinds } from './price-kinds.ts'
import {
  findPath,
  findQuote,
  findToken,
  type PricedToken,
  type PriceSource,
  type Since,
} from './priced-token.ts'
import type { Resolver } from './resolver.ts'

export function resolveChains({ chains, problems }: Resolver, file: EcosystemFile): void {
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

export function resolveTokens(resolver: Resolver, file: EcosystemFile): void {
  const { tokens } = resolver
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
    const resolved = { ...facts, addresses, prices }
    tokens.set(token.symbol.toUpperCase(), resolved)
    if (price !== undefined && prices.length === 0) resolver.wronglyPriced.add(resolved)
  }
  const listed = [...tokens.values()]
  checkQuotes(resolver, listed)
  const ofRole = (role: string) => listed.filter((token) => token.role === role)
  const [primaries, secondaries] = [ofRole('primary'), ofRole('secondary')]
  const isExcused = listed.length === 0 || (primaries.length === 0 && resolver.isLeftOut('tokens'))
  if (primaries.length !== 1 && !isExcused)
    resolver.problems.add(
      'tokens',
      `exactly one token must have the role "primary", found ${primaries.length}`,
    )
  if (secondaries.length > 1)
    resolver.problems.add(
      'tokens',
      `at most one token may have the role "secondary", found ${secondaries.length}`,
    )
  resolver.primary = primaries.length === 1 ? primaries[0] : undefined
  resolver.secondary = secondaries[0] ?? null
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

/** The sources of a price, oldest first; those with a problem are left out. */
function resolvePrices(
  resolver: Resolver,
  field: string,
  price: PriceFile | readonly PriceFile[] | undefined,
): readonly PriceSource[] {
  const entries = price === undefined ? [] : [price].flat()
  const sources = entries.map((entry, index) =>
    resolvePrice(resolver, Array.isArray(price) ? `${field}[${index}]` : field, entry),
  )
  for (const [index, source] of sources.entries())
    if (source !== null && index > 0) checkSince(resolver, source, sources[index - 1] ?? null)
  return sources.filter((source) => source !== null)
}

function resolvePrice(resolver: Resolver, field: string, price: PriceFile): PriceSource | null {
  const kind = priceKinds.find((each) => each.kind === price.kind)
  if (kind === undefined) return null
  const { problems } = resolver
  const fields: Readonly<Record<string, TSchema>> = kind.fields
  const { since: start, ...own } = price
  const given = Object.entries(own).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  const missing = Object.entries(fields).filter(([name]) => !given.includes(name))
  for (const [name, schema] of missing)
    problems.add(
      `${field}.${name}`,
      `is missing: ${'description' in schema ? schema.description : 'required'}`,
    )
  const known = ['kind', ...Object.keys(fields), ...Object.keys(kind.options)]
  for (const name of given.filter((each) => !known.includes(each)))
    problems.add(`${field}.${name}`, `is not a field of a price of kind "${kind.kind}"; remove it`)
  const source = missing.length > 0 ? null : kind.resolve({ resolver, field }, own)
  if (source === null) return null
  const since = typeof start === 'number' ? { block: start } : parseDay(start)
  if (source.chain !== null) return { ...source, field, since }
  if (since === null || 'unix' in since) return { ...source, field, since }
  problems.add(`${field}.since`, 'a fixed price has no chain; write a day such as "2025-03-31"')
  return { ...source, field, since: null }
}

function parseDay(day: string | undefined): { readonly unix: number } | null {
  return day === undefined ? null : { unix: Date.parse(`${day}T00:00:00Z`) / 1_000 }
}

/** Each source but the first says from when on it counts, in terms that its predecessor knows. */
function checkSince(
  { problems }: Resolver,
  { field, since, chain }: PriceSource,
  before: PriceSource | null,
): void {
  const add = (message: string) => problems.add(`${field}.since`, message)
  if (since === null) add('is missing: each source but the first says from when on it counts')
  else if ('block' in since && before !== null && before.chain?.id !== chain?.id)
    add('is a block, but the source before is not on its chain; write a day')
  else if (before !== null && !isLater(since, before.since))
    add('must be later than that of the source before; list the oldest first')
}

function isLater(since: Since, before: Since | null): boolean {
  if (before === null) return true
  if ('block' in since && 'block' in before) return since.block > before.block
  // A block and a day are compared by the index alone.
  return !('unix' in since && 'unix' in before) || since.unix > before.unix
}

/** Quotes must exist, be on the pool's chain and lead to US dollars. */
function checkQuotes(resolver: Resolver, tokens: readonly PricedToken[]): void {
  const { problems } = resolver
  for (const token of tokens)
    for (const price of token.prices) {
      const { field, chain } = price
      const quoteField = `${field}.quote`
      const isElsewhere = (each: PricedToken) => chain !== null && !each.addresses.has(chain.name)
      if (chain !== null && price.quote !== null) {
        if (isElsewhere(token))
          problems.add(`${field}.chain`, `${token.symbol} has no address on "${chain.name}"`)
        const quote = resolver.token(quoteField, price.quote)
        if (quote && isElsewhere(quote))
          problems.add(quoteField, `${quote.symbol} has no address on "${chain.name}"`)
      }
      const path = findPath(tokens, findToken(tokens, findQuote(price)))
      const isOpen = [...path].some(
        (each) => each.prices.length === 0 && !resolver.wronglyPriced.has(each),
      )
      if (path.has(token) || isOpen)
        problems.add(quoteField, 'forms a cycle or ends at a token without a price')
    }
}

/** Resolves bridge events like mapped ones, to token and amount of each move. */
export function resolveBridges(
  resolver: Resolver,
  tokens: EcosystemFile['tokens'],
): readonly EventSource[] {
  return tokens.flatMap(({ bridges = [], ...token }, index) =>
    bridges.flatMap(({ amount, ...entry }, place): readonly EventSource[] => {
      const context = { resolver, field: `tokens[${index}].bridges[${place}]`, burnAddresses: [] }
      const mapped = resolveEvent(context, entry)
      if (mapped === undefined) return []
      requireArguments(context, mapped, { amount }, 'uint256')
      if (!(mapped.chain.name in token.addresses))
        resolver.problems.add(
          `${context.field}.chain`,
          `${token.symbol} has no address on "${mapped.chain.name}"; correct the chain, or add the address`,
        )
      const read: EventSource['read'] = (args) => ({
        ...MOVE,
        token: token.symbol,
        amount: argument.amount(args, amount),
      })
      return [{ ...mapped, read }]
    }),
  )
}

const MOVE = { kind: 'bridge', account: ZERO_ADDRESS, detail: null, counted: false } as const
