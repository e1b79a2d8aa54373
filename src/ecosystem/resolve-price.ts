import type { TSchema } from 'typebox'
import { type PriceFile, priceKinds } from './price-kinds.ts'
import { type PricedToken, type PriceSource, quoteOf, type Since } from './priced-token.ts'
import type { Resolver } from './resolver.ts'

/**
 * The sources of a price, oldest first; those with a problem are left out. `checkPrices` checks the
 * quotes once all tokens are known.
 */
export function resolvePrices(
  resolver: Resolver,
  field: string,
  price: PriceFile | readonly PriceFile[] | undefined,
): readonly PriceSource[] {
  if (price === undefined) return []
  const entries = [price].flat()
  const sources = entries.map((entry, index) =>
    resolvePrice(resolver, fieldOf(field, price, index), entry),
  )
  for (const [index, source] of sources.entries())
    if (source !== null && index > 0)
      checkSince(resolver, `${fieldOf(field, price, index)}.since`, {
        source,
        before: sources[index - 1] ?? null,
      })
  return sources.filter((source) => source !== null)
}

/** Names the field, such as `tokens[0].price`, or `tokens[0].price[1]` of a list. */
function fieldOf(field: string, price: PriceFile | readonly PriceFile[], index: number): string {
  return Array.isArray(price) ? `${field}[${index}]` : field
}

export function priceFieldOf(token: PricedToken, tokenIndex: number, source: PriceSource): string {
  const field = `tokens[${tokenIndex}].price`
  const index = token.prices.indexOf(source)
  return token.prices.length > 1 ? `${field}[${index}]` : field
}

function resolvePrice(resolver: Resolver, field: string, price: PriceFile): PriceSource | null {
  const kind = priceKinds.find((each) => each.kind === price.kind)
  if (kind === undefined) return null
  const fields: Readonly<Record<string, TSchema>> = kind.fields
  const given = Object.entries(price).flatMap(([name, value]) =>
    value === undefined ? [] : [name],
  )
  const missing = Object.keys(fields).filter((name) => !given.includes(name))
  for (const name of missing)
    resolver.problems.add(`${field}.${name}`, `is missing: ${describe(fields[name])}`)
  const known = ['kind', 'since', ...Object.keys(fields), ...Object.keys(kind.options)]
  for (const name of given.filter((each) => !known.includes(each)))
    resolver.problems.add(
      `${field}.${name}`,
      `is not a field of a price of kind "${kind.kind}"; remove it`,
    )
  if (missing.length > 0) return null
  const { since: _, ...own } = price
  const source = kind.resolve({ resolver, field }, own)
  return source && withSince(resolver, field, { source, since: price.since })
}

type Unplaced = NonNullable<ReturnType<(typeof priceKinds)[number]['resolve']>>

function withSince(
  { problems }: Resolver,
  field: string,
  { source, since }: { readonly source: Unplaced; readonly since: PriceFile['since'] },
): PriceSource {
  if (source.chain !== null) return { ...source, since: readSince(since) }
  if (typeof since !== 'number') return { ...source, since: dayOf(since) }
  problems.add(`${field}.since`, 'a fixed price has no chain; write a day such as "2025-03-31"')
  return { ...source, since: null }
}

function readSince(since: PriceFile['since']): Since | null {
  return typeof since === 'number' ? { block: since } : dayOf(since)
}

function dayOf(day: string | undefined): { readonly unix: number } | null {
  return day === undefined ? null : { unix: Date.parse(`${day}T00:00:00Z`) / 1_000 }
}

/** Each source but the first says from when on it counts, in terms that its predecessor knows. */
function checkSince(
  { problems }: Resolver,
  field: string,
  { source, before }: { readonly source: PriceSource; readonly before: PriceSource | null },
): void {
  const { since } = source
  if (since === null)
    problems.add(field, 'is missing: each source but the first says from when on it counts')
  else if ('block' in since && before !== null && before.chain?.id !== source.chain?.id)
    problems.add(field, 'is a block, but the source before is not on its chain; write a day')
  else if (before !== null && !isLater(since, before.since))
    problems.add(field, 'must be later than that of the source before; list the oldest first')
}

function isLater(since: Since, before: Since | null): boolean {
  if (before === null) return true
  if ('block' in since && 'block' in before) return since.block > before.block
  // A block and a day are compared by the index alone.
  return !('unix' in since && 'unix' in before) || since.unix > before.unix
}

function describe(schema: TSchema | undefined): string {
  return schema !== undefined && 'description' in schema ? String(schema.description) : 'required'
}

/** Quotes must exist, be on the pool's chain and lead to US dollars. */
export function checkPrices(resolver: Resolver, tokens: readonly PricedToken[]): void {
  for (const [index, token] of tokens.entries())
    for (const price of token.prices) {
      const field = priceFieldOf(token, index, price)
      if (price.chain !== null && price.quote !== null) {
        if (!token.addresses.has(price.chain.name))
          resolver.problems.add(
            `${field}.chain`,
            `${token.symbol} has no address on "${price.chain.name}"`,
          )
        const quote = resolver.token(`${field}.quote`, price.quote)
        if (quote && !quote.addresses.has(price.chain.name))
          resolver.problems.add(
            `${field}.quote`,
            `${quote.symbol} has no address on "${price.chain.name}"`,
          )
      }
      if (!leadsToDollars(resolver, price, { tokens, passed: [token.symbol] }))
        resolver.problems.add(`${field}.quote`, 'forms a cycle or ends at a token without a price')
    }
}

interface Path {
  readonly tokens: readonly PricedToken[]
  /** Symbols on the way here. */
  readonly passed: readonly string[]
}

function leadsToDollars(resolver: Resolver, price: PriceSource, path: Path): boolean {
  const { tokens, passed } = path
  const symbol = quoteOf(price)?.toUpperCase()
  if (symbol === undefined) return true
  const quote = tokens.find((each) => each.symbol.toUpperCase() === symbol)
  if (quote === undefined) return true
  if (passed.includes(quote.symbol)) return false
  if (quote.prices.length === 0) return resolver.hasInvalidPrice(quote)
  return quote.prices.every((each) =>
    leadsToDollars(resolver, each, { tokens, passed: [...passed, quote.symbol] }),
  )
}
