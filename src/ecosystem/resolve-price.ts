import type { TSchema } from 'typebox'
import { type PriceFile, priceKinds } from './price-kinds.ts'
import { type PricedToken, type PriceSource, quoteOf } from './priced-token.ts'
import type { Resolver } from './resolver.ts'

/** Null after a problem. `checkPrices` checks the quote once all tokens are known. */
export function resolvePrice(
  resolver: Resolver,
  field: string,
  price: PriceFile,
): PriceSource | null {
  const kind = priceKinds.find((each) => each.kind === price.kind)
  if (kind === undefined) return null
  const fields: Readonly<Record<string, TSchema>> = kind.fields
  const given = Object.entries(price).flatMap(([name, value]) =>
    value === undefined ? [] : [name],
  )
  const missing = Object.keys(fields).filter((name) => !given.includes(name))
  for (const name of missing)
    resolver.problems.add(`${field}.${name}`, `is missing: ${describe(fields[name])}`)
  for (const name of given.filter((each) => each !== 'kind' && !(each in fields)))
    resolver.problems.add(
      `${field}.${name}`,
      `is not a field of a price of kind "${kind.kind}"; remove it`,
    )
  if (missing.length === 0) return kind.resolve({ resolver, field }, price)
  // A missing field must not hide other mistakes.
  if ('chain' in fields && price.chain !== undefined) resolver.chain(`${field}.chain`, price.chain)
  if ('address' in fields && price.address !== undefined)
    resolver.address(`${field}.address`, price.address)
  return null
}

function describe(schema: TSchema | undefined): string {
  return schema !== undefined && 'description' in schema ? String(schema.description) : 'required'
}

/** Quotes must exist, be on the pool's chain and lead to US dollars. */
export function checkPrices(resolver: Resolver, tokens: readonly PricedToken[]): void {
  for (const [index, token] of tokens.entries()) {
    const field = `tokens[${index}].price`
    const { price } = token
    if (price === null) continue
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
    if (!leadsToDollars(resolver, token, tokens))
      resolver.problems.add(`${field}.quote`, 'forms a cycle or ends at a token without a price')
  }
}

function leadsToDollars(
  resolver: Resolver,
  token: PricedToken,
  tokens: readonly PricedToken[],
): boolean {
  let current: PricedToken | undefined = token
  for (let step = 0; step <= tokens.length && current !== undefined; step += 1) {
    if (current.price === null) return resolver.hasInvalidPrice(current)
    const quote = quoteOf(current.price)
    if (quote === null) return true
    current = tokens.find((each) => each.symbol.toUpperCase() === quote.toUpperCase())
  }
  return current === undefined
}
