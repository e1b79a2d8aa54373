import { type Address, ZERO_ADDRESS } from '#base/address.ts'
import { parseDecimal } from '#base/money.ts'
import { DEFAULT_QUOTAS, type ShareTier, shareTiers } from '#base/tier.ts'
import { COIN_ADDRESS } from '#base/token.ts'
import { type EventSources, eventKinds } from '#data/kinds.ts'
import type { Chain, Ecosystem, HoldingGate, Payment, SupplyShare } from './ecosystem.ts'
import type { EcosystemFile } from './ecosystem-file.ts'
import { argument } from './event-arguments.ts'
import { requireArguments, resolveEvent } from './event-kind.ts'
import type { EventSource } from './event-source.ts'
import { priceFields } from './price-kinds/price-kind.ts'
import { type PriceFile, priceKinds } from './price-kinds.ts'
import {
  findPath,
  findToken,
  type PricedToken,
  type PriceSource,
  type Since,
} from './priced-token.ts'
import type { Problems } from './problem.ts'
import { Resolver } from './resolver.ts'

/** The file without its invalid entries, and these, by part. */
export interface Shaped {
  readonly file: EcosystemFile
  readonly left: Readonly<Record<string, readonly unknown[]>>
}

/** Reports every mistake and returns undefined if there are any. */
export function resolveEcosystem(
  { file, left }: Shaped,
  problems: Problems,
): Ecosystem | undefined {
  const resolver = new Resolver(problems, left)
  resolveChains(resolver, file)
  resolveTokens(resolver, file)
  const nonCirculating = resolveSupply(resolver, file)
  const { primary, secondary, burnAddresses } = resolver
  const ecosystem = {
    file,
    service: resolveService(file),
    chains: [...resolver.chains.values()],
    tokens: [...resolver.tokens.values()],
    burnAddresses,
    nonCirculating,
    ...resolveEvents(resolver, file),
    bridges: resolveBridges(resolver, file.tokens),
    secondary,
    payment: resolvePayment(resolver.at('payment'), file.payment),
    gate: file.gate === 'open' ? file.gate : resolveGate(resolver, file.gate),
    ...resolveShares(resolver, file),
    quotas: { ...DEFAULT_QUOTAS, ...file.quotas },
    pricePerCall: resolvePricePerCall(resolver, file),
  }
  return primary && problems.list.length === 0 ? { ...ecosystem, primary } : undefined
}

function resolveService({ service }: EcosystemFile): Ecosystem['service'] {
  const publicBaseUrl = service.publicBaseUrl.replace(/\/+$/, '')
  return {
    name: service.name,
    keyPrefix: service.keyPrefix,
    publicBaseUrl,
    colors: service.colors ?? {},
    links: service.links ?? {},
    words: service.words ?? {},
    pricingDocsUrl: service.pricingDocsUrl ?? `${publicBaseUrl}/scalar/v1#pricing`,
  }
}

/** Returns what holds tokens that do not circulate; the resolver keeps the burn addresses. */
function resolveSupply(resolver: Resolver, { supply = {} }: EcosystemFile): readonly Address[] {
  const place = resolver.at('supply')
  const { burnAddresses: burning = [], nonCirculating: held = [] } = supply
  const burnAddresses = burning.map((text, index) => place.address(`burnAddresses[${index}]`, text))
  const nonCirculating = held.map((each, index) =>
    place.address(`nonCirculating[${index}].address`, each.address),
  )
  const both = nonCirculating.findIndex((address) => burnAddresses.includes(address))
  if (both >= 0) place.report(`nonCirculating[${both}]`, 'is a burn address already; list it once')
  resolver.burnAddresses = burnAddresses.filter((address) => address !== ZERO_ADDRESS)
  return nonCirculating
}

function resolveEvents(resolver: Resolver, file: EcosystemFile): EventSources {
  const lists = eventKinds.map(({ part, resolve }) => {
    const entries: readonly unknown[] = file[part] ?? []
    const placeOf = (index: number) => resolver.at(`${part}[${index}]`)
    return [part, entries.flatMap((entry, index) => resolve(placeOf(index), entry) ?? [])]
  })
  return Object.fromEntries(lists)
}

const PRICE_PER_CALL_USD = '0.0001'

function resolvePricePerCall(resolver: Resolver, file: EcosystemFile): bigint {
  const price = parseDecimal(file.pricePerCallUsd ?? PRICE_PER_CALL_USD, 6)
  if (price === undefined || price === 0n)
    resolver.report('pricePerCallUsd', 'must be above 0 with at most 6 decimals, such as "0.0001"')
  return price ?? 1n
}

/** Null without payments or after a problem. */
function resolvePayment(place: Resolver, payment: EcosystemFile['payment']): Payment | null {
  if (payment === undefined) return null
  const chain = place.chain('chain', payment.chain)
  const asset = place.address('asset', payment.asset)
  const payTo = payment.payTo.map((each, index) => ({
    ...each,
    address: place.address(`payTo[${index}].address`, each.address),
  }))
  for (const [index, { address, since }] of payTo.entries()) {
    const each = place.at(`payTo[${index}]`)
    if (address === ZERO_ADDRESS && BigInt(payment.payTo[index]?.address ?? 0) === 0n)
      each.report('address', 'is the zero address: payments to it would be lost')
    if (address === asset)
      each.report('address', 'is the payment asset itself: payments to it would be lost')
    if ((payTo[index - 1]?.since ?? '') >= since)
      each.report('since', 'must be later than the entry before; list the oldest first')
  }
  const isLocal = chain?.rpcUrls.every((each) => LOOPBACK.includes(new URL(each).hostname))
  if (payment.confirmations === 0 && chain !== undefined && !isLocal)
    place.report('confirmations', '0 is for development chains only; use 10 or more')
  if (payment.settle !== undefined) checkFacilitator(place, payment.settle)
  return chain === undefined ? null : { ...payment, chain, asset, payTo, decimals: 6 }
}

/** Payments and the headers that authenticate us cross the network. */
function checkFacilitator(place: Resolver, { facilitator }: NonNullable<Payment['settle']>): void {
  const url = URL.parse(facilitator)
  const isSafe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.includes(url.hostname))
  if (url !== null && (url.username || url.password || url.search || url.hash))
    place.report(
      'settle.facilitator',
      'must have neither credentials nor a query; send keys by SEXTON_FACILITATOR_HEADERS_FILE',
    )
  else if (!isSafe)
    place.report(
      'settle.facilitator',
      `must be an https URL (got "${facilitator}"); http is for 127.0.0.1 only`,
    )
}

const LOOPBACK: readonly string[] = ['127.0.0.1', 'localhost', '[::1]']

function resolveGate(
  resolver: Resolver,
  gate: Exclude<EcosystemFile['gate'], 'open'>,
): HoldingGate | null {
  if (gate === undefined) return null
  const place = resolver.at('gate')
  const { depthBlocks, averagePriceMinutes } = gate
  const minimum = place.dollars('minimumUsd', gate.minimumUsd)
  const chain = place.chain('chain', gate.chain)
  if (chain === undefined) return null
  requireDepth(place, chain, depthBlocks)
  const listed = [...resolver.tokens.values()]
  for (const token of [resolver.primary, resolver.secondary]) {
    if (!token) continue
    const { symbol } = token
    if (!token.addresses.has(chain.name))
      place.report(
        'chain',
        `token ${symbol} has no address on "${chain.name}"; add it under tokens or choose another chain`,
      )
    if (token.prices.length === 0 && !resolver.wronglyPriced.has(token))
      place.report('', `token ${symbol} has no price; add one, or remove the gate`)
    const prices = [...findPath(listed, token)].flatMap((each) => each.prices)
    const falsifiable = prices.find((price) => 'ofLastTrade' in price)
    if (falsifiable !== undefined)
      place.report(
        '',
        `the price of ${symbol} is that of the last trade (${falsifiable.kind}), which one transaction can falsify; price it otherwise, or remove the gate`,
      )
  }
  return { chain, minimum, depthBlocks, averagePriceMinutes }
}

function resolveShares(resolver: Resolver, file: EcosystemFile): Pick<Ecosystem, ShareTier> {
  const shares = shareTiers.map(({ name }) => [name, resolveShare(resolver, file, name)])
  return Object.fromEntries(shares)
}

function resolveShare(
  resolver: Resolver,
  file: EcosystemFile,
  tier: ShareTier,
): SupplyShare | null {
  const share = file[tier]
  if (share === undefined) return null
  const place = resolver.at(tier)
  const { primary, secondary } = resolver
  const named = share.token?.toUpperCase()
  const token =
    named === undefined
      ? secondary
      : [primary, secondary].find((each) => each?.symbol.toUpperCase() === named)
  if (!token) {
    if (resolver.isLeftOut('tokens')) return null
    if (named !== undefined) place.report('token', 'must be the primary or the secondary token')
    else
      place.report(
        '',
        `needs a token with the role "secondary"; add one, name the primary as ${tier}.token, or remove ${tier}`,
      )
    return null
  }
  const ofGate = typeof file.gate === 'object' ? file.gate.depthBlocks : DEPTH_BLOCKS
  const depthBlocks = share.depthBlocks ?? ofGate
  for (const chain of resolver.chains.values())
    if (token.addresses.has(chain.name)) requireDepth(place, chain, depthBlocks)
  return { token, supplyPerMille: share.supplyPerMille, depthBlocks }
}

const DEPTH_BLOCKS = 10

/** Past balances are kept for non-final blocks only. */
function requireDepth(place: Resolver, { name, finality }: Chain, depthBlocks: number): void {
  if (finality !== 'tag' && finality < depthBlocks)
    place.report(
      'depthBlocks',
      `must be at most ${finality}, the finality of "${name}"; lower it or raise the finality`,
    )
}

function resolveChains(resolver: Resolver, file: EcosystemFile): void {
  const { chains } = resolver
  for (const [index, chain] of file.chains.entries()) {
    const place = resolver.at(`chains[${index}]`)
    if (chains.has(chain.name)) place.report('name', `"${chain.name}" appears twice`)
    if ([...chains.values()].some((each) => each.id === chain.id))
      place.report('id', `${chain.id} appears twice`)
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

function resolveTokens(resolver: Resolver, file: EcosystemFile): void {
  const { tokens } = resolver
  for (const [index, token] of file.tokens.entries()) {
    const place = resolver.at(`tokens[${index}]`)
    if (tokens.has(token.symbol.toUpperCase()))
      place.report('symbol', `"${token.symbol}" appears twice`)
    const addresses = new Map<string, Address>()
    for (const [name, text] of Object.entries(token.addresses)) {
      const member = `addresses.${name}`
      const chain = place.chain(member, name)
      const address =
        text === 'native' ? resolveCoin(place.at(member), token) : place.address(member, text)
      if (chain !== undefined) addresses.set(chain.name, address)
    }
    const { price, bridges: _, ...facts } = token
    const resolved = { ...facts, addresses, prices: resolvePrices(place, price) }
    tokens.set(token.symbol.toUpperCase(), resolved)
    if (price !== undefined && resolved.prices.length === 0) resolver.wronglyPriced.add(resolved)
  }
  const listed = [...tokens.values()]
  checkQuotes(resolver, listed)
  const ofRole = (role: string) => listed.filter((token) => token.role === role)
  const [primaries, secondaries] = [ofRole('primary'), ofRole('secondary')]
  const isExcused = listed.length === 0 || (primaries.length === 0 && resolver.isLeftOut('tokens'))
  if (primaries.length !== 1 && !isExcused)
    resolver.report(
      'tokens',
      `exactly one token must have the role "primary", found ${primaries.length}`,
    )
  if (secondaries.length > 1)
    resolver.report(
      'tokens',
      `at most one token may have the role "secondary", found ${secondaries.length}`,
    )
  resolver.primary = primaries.length === 1 ? primaries[0] : undefined
  resolver.secondary = secondaries[0] ?? null
}

/** Its transfers leave no logs. */
function resolveCoin(
  place: Resolver,
  { role, decimals, bridges }: EcosystemFile['tokens'][number],
): Address {
  if (role !== 'reward')
    place.report(
      '',
      `"native" can only be a reward token, not ${role}: balances, supply and burns are read from logs of transfers, which the coin does not have`,
    )
  if (decimals !== COIN_DECIMALS)
    place.report('', `the native coin has ${COIN_DECIMALS} decimals; write "decimals": 18`)
  if (bridges !== undefined) place.report('', 'the native coin has no bridges here; remove them')
  return COIN_ADDRESS
}

const COIN_DECIMALS = 18

/** The sources of a price, oldest first; those with a problem are left out. */
function resolvePrices(
  token: Resolver,
  price: PriceFile | readonly PriceFile[] | undefined,
): readonly PriceSource[] {
  const entries = price === undefined ? [] : [price].flat()
  const sources = entries.map((entry, index) =>
    resolvePrice(token.at(Array.isArray(price) ? `price[${index}]` : 'price'), entry),
  )
  for (const [index, source] of sources.entries())
    if (source !== null && index > 0) checkSince(token, source, sources[index - 1] ?? null)
  return sources.filter((source) => source !== null)
}

function resolvePrice(place: Resolver, price: PriceFile): PriceSource | null {
  const kind = priceKinds.find((each) => each.kind === price.kind)
  if (kind === undefined) return null
  const { since: start, ...own } = price
  const given = new Map(Object.entries(own).filter(([, value]) => value !== undefined))
  const missing = kind.fields.filter((name) => !given.has(name))
  for (const name of missing) {
    const schema: object = priceFields[name]
    const wanted = 'description' in schema ? schema.description : 'required'
    place.report(name, `is missing: ${wanted}`)
  }
  const known: readonly string[] = ['kind', ...kind.fields, ...kind.options]
  for (const name of given.keys())
    if (!known.includes(name) && given.delete(name))
      place.report(name, `is not a field of a price of kind "${kind.kind}"; remove it`)
  const source = missing.length > 0 ? null : kind.resolve(place, Object.fromEntries(given))
  if (source === null) return null
  const since: Since | null =
    start === undefined
      ? null
      : typeof start === 'number'
        ? { block: start }
        : { unix: Date.parse(`${start}T00:00:00Z`) / 1_000 }
  if (source.chain !== null) return { ...source, field: place.field, since }
  if (since === null || 'unix' in since) return { ...source, field: place.field, since }
  place.report('since', 'a fixed price has no chain; write a day such as "2025-03-31"')
  return { ...source, field: place.field, since: null }
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
  for (const token of tokens)
    for (const price of token.prices) {
      const { chain, field } = price
      const isElsewhere = (each: PricedToken) => chain !== null && !each.addresses.has(chain.name)
      if (chain !== null && price.quote !== null) {
        if (isElsewhere(token))
          resolver.report(`${field}.chain`, `${token.symbol} has no address on "${chain.name}"`)
        const quote = resolver.token(`${field}.quote`, price.quote)
        if (quote && isElsewhere(quote))
          resolver.report(`${field}.quote`, `${quote.symbol} has no address on "${chain.name}"`)
      }
      const path = findPath(tokens, findToken(tokens, price.quote))
      const isOpen = [...path].some(
        (each) => each.prices.length === 0 && !resolver.wronglyPriced.has(each),
      )
      if (path.has(token) || isOpen)
        resolver.report(`${field}.quote`, 'forms a cycle or ends at a token without a price')
    }
}

/** Resolves bridge events like mapped ones, to token and amount of each move. */
function resolveBridges(
  resolver: Resolver,
  tokens: EcosystemFile['tokens'],
): readonly EventSource[] {
  return tokens.flatMap(({ bridges = [], ...token }, index) =>
    bridges.flatMap(({ amount, ...entry }, place): readonly EventSource[] => {
      const bridge = resolver.at(`tokens[${index}].bridges[${place}]`)
      const mapped = resolveEvent(bridge, entry)
      if (mapped === undefined) return []
      requireArguments(bridge, mapped, { amount }, 'uint256')
      if (!(mapped.chain.name in token.addresses))
        bridge.report(
          'chain',
          `${token.symbol} has no address on "${mapped.chain.name}"; correct the chain, or add the address`,
        )
      const read: EventSource['read'] = (args) => ({
        kind: 'bridge',
        token: token.symbol,
        account: ZERO_ADDRESS,
        amount: argument.amount(args, amount),
        detail: null,
        counted: false,
      })
      return [{ ...mapped, read }]
    }),
  )
}
