import { PRICE_DECIMALS } from '#domain/money.ts'
import { parseDecimal } from '#lib/decimal.ts'
import type { PricedToken, PriceSource } from './ecosystem.ts'
import type { EcosystemFile } from './ecosystem-file.ts'
import type { Resolver } from './resolver.ts'

type PriceFile = NonNullable<EcosystemFile['tokens'][number]['price']>

/** Null after a problem. `checkPrices` checks the quote once all tokens are known. */
export function resolvePrice(
  resolver: Resolver,
  field: string,
  price: PriceFile,
): PriceSource | null {
  if (price.kind === 'fixed') return resolveFixed(resolver, field, price)
  if (price.chain === undefined) resolver.problems.add(`${field}.chain`, 'is missing')
  if (price.address === undefined)
    resolver.problems.add(`${field}.address`, 'is missing: the pool or feed')
  const chain =
    price.chain === undefined ? undefined : resolver.chain(`${field}.chain`, price.chain)
  if (chain === undefined || price.address === undefined) return null
  const address = resolver.address(`${field}.address`, price.address)
  if (price.kind === 'chainlink') {
    if (price.decimals === undefined)
      resolver.problems.add(
        `${field}.decimals`,
        "is missing: the decimals of the feed's answers, usually 8",
      )
    return { kind: 'chainlink', chain, address, decimals: price.decimals ?? 8 }
  }
  if (price.quote === undefined)
    resolver.problems.add(`${field}.quote`, "is missing: the symbol of the pool's other token")
  return { kind: price.kind, chain, address, quote: price.quote ?? '' }
}

function resolveFixed(resolver: Resolver, field: string, price: PriceFile): PriceSource | null {
  const usd = price.usd
  if (usd !== undefined && parseDecimal(usd, PRICE_DECIMALS) !== undefined)
    return { kind: 'fixed', usd }
  resolver.problems.add(`${field}.usd`, 'is missing: a fixed price needs a decimal such as "1"')
  return null
}

/** Quotes must exist, be on the pool's chain and lead to US dollars. */
export function checkPrices(resolver: Resolver, tokens: readonly PricedToken[]): void {
  for (const [index, token] of tokens.entries()) {
    const field = `tokens[${index}].price`
    const { price } = token
    if (price === null) continue
    if (price.kind !== 'fixed' && price.kind !== 'chainlink') {
      if (!token.addresses.has(price.chain.name))
        resolver.problems.add(
          `${field}.chain`,
          `${token.symbol} has no address on "${price.chain.name}"`,
        )
      const quote = price.quote === '' ? undefined : resolver.token(`${field}.quote`, price.quote)
      if (quote && !quote.addresses.has(price.chain.name))
        resolver.problems.add(
          `${field}.quote`,
          `${quote.symbol} has no address on "${price.chain.name}"`,
        )
    }
    if (!leadsToDollars(token, tokens))
      resolver.problems.add(`${field}.quote`, 'forms a cycle or ends at a token without a price')
  }
}

function leadsToDollars(token: PricedToken, tokens: readonly PricedToken[]): boolean {
  let current: PricedToken | undefined = token
  for (let step = 0; step <= tokens.length && current !== undefined; step += 1) {
    const price: PriceSource | null = current.price
    if (price === null) return false
    if (price.kind === 'fixed' || price.kind === 'chainlink') return true
    current = tokens.find((each) => each.symbol.toUpperCase() === price.quote.toUpperCase())
  }
  return current === undefined
}
