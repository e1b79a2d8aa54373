import { Type } from 'typebox'
import { showAddress } from '#base/address.ts'
import {
  formatDecimal,
  percentage,
  shareOf,
  toUsdPrice,
  toUsdPriceExact,
  toValueExact,
  valueAt,
} from '#base/money.ts'
import { mapOf, named } from '#base/schema.ts'
import { DAY_SECONDS } from '#base/time.ts'
import { isTracked } from '#base/token.ts'
import type { Context } from '#context.ts'
import { newlyMinted } from '#data/burns/dataset.ts'
import { BURNS } from '#data/burns/kind.ts'
import { dataRoute } from '#data/data-route.ts'
import { DIVIDENDS } from '#data/dividends/kind.ts'
import { GRAVE_DIGS } from '#data/grave-digs/kind.ts'
import {
  circulatingOf,
  countHolders,
  readTotalSupply,
  totalSupplyOf,
} from '#data/holders/queries.ts'
import {
  amounts,
  amountText,
  areHoldersKnown,
  areTransfersReadable,
  nullable,
  priceNumber,
  priceText,
  rawText,
  unixTime,
  unpricedCount,
  usdOf,
  usdOrNull,
} from '#data/meta.ts'
import { latestPrice, PRICE_GAPS } from '#data/prices/price-book.ts'
import { addDollars, valueNow } from '#data/value-now.ts'
import type { Connection } from '#db/engine.ts'
import type { PricedToken } from '#ecosystem/ecosystem.ts'
import {
  addSums,
  dollarsOf,
  NOTHING,
  sumTotals,
  type TokenSums,
  totalOf,
  unpricedOf,
} from '#index/events/sums.ts'
import type { IndexStatus } from '#index/status.ts'
import type { Route } from '#route.ts'

const tokenShape = named('TokenStats', {
  symbol: Type.String(),
  name: Type.String(),
  role: Type.Enum(['primary', 'secondary', 'reward']),
  decimals: Type.Integer(),
  addresses: mapOf(Type.String()),
  totalSupply: nullable(amountText),
  circulatingSupply: nullable(amountText),
  totalBurned: nullable(amountText),
  holderCount: nullable(Type.Integer()),
  priceUsd: nullable(priceNumber),
  priceUsdExact: nullable(priceText),
  priceUnknown: Type.Union([Type.Enum([...PRICE_GAPS]), Type.Null()], {
    description:
      'Why there is no price. `no_source`: none is configured; `no_event`: its source has stated none yet; `not_read`: history is still being read; `no_liquidity`, `low_liquidity`: nothing, or too little, can be traded; `stale`: the feed is too old',
  }),
  marketCapUsd: usdOrNull,
  marketCapUsdExact: nullable(priceText),
})

const statsShape = named('Stats', {
  totalBurned: nullable(amountText),
  totalBurnedRaw: nullable(rawText),
  burnedPct: Type.Union([Type.Number(), Type.Null()], {
    description:
      'Of everything newly minted; null while the supply is unknown, or if bridges brought all of it',
  }),
  circulatingSupply: nullable(amountText),
  circulatingSupplyRaw: nullable(rawText),
  totalSupply: nullable(amountText),
  totalSupplyRaw: nullable(rawText),
  holderCount: nullable(Type.Integer()),
  lifetimeDividendsUsdAtPayout: usdOrNull,
  lifetimeDividendsUnpricedCount: unpricedCount,
  lifetimeDividendsUsdNow: usdOrNull,
  lifetimeDividendsUnpricedNowCount: unpricedCount,
  lifetimeDividends: Type.Array(
    named('LifetimeDividends', {
      token: Type.String(),
      amount: amountText,
      amountRaw: rawText,
      usdAtPayout: usdOrNull,
      unpricedCount,
      usdNow: usdOrNull,
    }),
  ),
  prices: mapOf(
    named('TokenPrice', {
      usd: priceNumber,
      usdExact: priceText,
      change24hPct: nullable(Type.Number()),
      asOfUnix: unixTime,
      source: Type.String(),
    }),
  ),
  graveDigs: named('GraveDigSums', {
    count: Type.Integer(),
    totalClaimed: amountText,
    totalClaimedRaw: rawText,
  }),
  tokens: Type.Array(tokenShape),
})

export function statsRoute(ctx: Context): Route {
  return dataRoute(ctx, {
    path: '/api/stats',
    operationId: 'getStats',
    tag: 'Statistics',
    summary: 'Current statistics',
    description:
      'Total burned, supply, holders, lifetime dividends, prices and grave digs as of the newest indexed block.',
    parameters: {},
    data: statsShape,
    read: async ({ connection, status }) => ({
      data: await readStats(ctx, connection, status),
    }),
  })
}

async function readStats(ctx: Context, connection: Connection, status: IndexStatus) {
  const { primary } = ctx.ecosystem
  const burns = await sumTotals(connection, BURNS)
  const dividends = sumPerToken(await sumTotals(connection, DIVIDENDS))
  const { lines, usdNow, unpricedNow } = await valueNow(ctx, connection, {
    status,
    sums: dividends,
  })
  const digs = totalOf(await sumTotals(connection, GRAVE_DIGS), ofToken(primary))
  const burned = totalOf(burns, ofToken(primary)).amount
  return {
    ...amounts(
      'totalBurned',
      areTransfersReadable(status, primary) ? burned : null,
      primary.decimals,
    ),
    ...(await readSupply(connection, primary, { status, burned })),
    lifetimeDividendsUsdAtPayout: usdOf(addDollars(dividends.map(dollarsOf))),
    lifetimeDividendsUnpricedCount: dividends.reduce((sum, each) => sum + unpricedOf(each), 0),
    lifetimeDividendsUsdNow: usdOf(usdNow),
    lifetimeDividendsUnpricedNowCount: unpricedNow,
    lifetimeDividends: lines.map((line) => ({
      token: line.token.symbol,
      ...amounts('amount', line.amount, line.token.decimals),
      usdAtPayout: usdOf(dollarsOf(line)),
      unpricedCount: unpricedOf(line),
      usdNow: usdOf(line.usdNow),
    })),
    prices: await readPrices(ctx, connection, status),
    graveDigs: { count: digs.events, ...amounts('totalClaimed', digs.amount, primary.decimals) },
    tokens: await readTokens(ctx, connection, { status, burns }),
  }
}

async function readSupply(
  connection: Connection,
  token: PricedToken,
  { status, burned }: { readonly status: IndexStatus; readonly burned: bigint },
) {
  const isKnown = areHoldersKnown(status, token)
  const supply = await readTotalSupply(connection, token.symbol)
  const [circulating, total] = [circulatingOf(supply), totalSupplyOf(supply)]
  return {
    burnedPct: isKnown ? shareOf(burned, await newlyMinted(connection, token.symbol)) : null,
    ...amounts('circulatingSupply', isKnown ? circulating : null, token.decimals),
    ...amounts('totalSupply', isKnown ? total : null, token.decimals),
    holderCount: isKnown ? await countHolders(connection, token.symbol) : null,
  }
}

function ofToken(token: PricedToken): (sums: TokenSums) => boolean {
  return (sums) => sums.token === token.symbol
}

function sumPerToken(totals: readonly TokenSums[]) {
  const symbols = [...new Set(totals.map((each) => each.token))].sort()
  return symbols.map((token) => ({
    token,
    ...totals.filter((each) => each.token === token).reduce(addSums, NOTHING),
  }))
}

async function readPrices(ctx: Context, connection: Connection, status: IndexStatus) {
  const prices: Record<string, unknown> = {}
  for (const { symbol } of ctx.ecosystem.tokens) {
    const now = await latestPrice(ctx, connection, symbol, status.asOfUnix)
    if ('gap' in now) continue
    const dayBefore = status.asOfUnix - DAY_SECONDS
    const before = await latestPrice(ctx, connection, symbol, dayBefore)
    prices[symbol] = {
      usd: toUsdPrice(now.price),
      usdExact: toUsdPriceExact(now.price),
      change24hPct: 'gap' in before ? null : changePct(before.price, now.price),
      asOfUnix: now.asOfUnix,
      source: now.source,
    }
  }
  return prices
}

function changePct(before: bigint, now: bigint): number {
  return now >= before ? percentage(now - before, before) : -percentage(before - now, before)
}

async function readTokens(
  ctx: Context,
  connection: Connection,
  { status, burns }: { readonly status: IndexStatus; readonly burns: readonly TokenSums[] },
) {
  const tokens = []
  for (const token of ctx.ecosystem.tokens) {
    const latest = await latestPrice(ctx, connection, token.symbol, status.asOfUnix)
    const price = 'gap' in latest ? null : latest.price
    tokens.push({
      symbol: token.symbol,
      name: token.name,
      role: token.role,
      decimals: token.decimals,
      addresses: Object.fromEntries(
        [...token.addresses].map(([chain, address]) => [chain, showAddress(address)]),
      ),
      ...(isTracked(token) && areHoldersKnown(status, token)
        ? await trackedFigures(connection, token, price)
        : NO_FIGURES),
      totalBurned:
        isTracked(token) && areTransfersReadable(status, token)
          ? formatDecimal(totalOf(burns, ofToken(token)).amount, token.decimals)
          : null,
      priceUsd: price === null ? null : toUsdPrice(price),
      priceUsdExact: price === null ? null : toUsdPriceExact(price),
      priceUnknown: 'gap' in latest ? latest.gap : null,
    })
  }
  return tokens
}

/** Reward tokens have only payouts indexed, not every transfer. */
const NO_FIGURES = {
  totalSupply: null,
  circulatingSupply: null,
  holderCount: null,
  marketCapUsd: null,
  marketCapUsdExact: null,
}

async function trackedFigures(connection: Connection, token: PricedToken, price: bigint | null) {
  const supply = await readTotalSupply(connection, token.symbol)
  const circulating = circulatingOf(supply)
  return {
    totalSupply: formatDecimal(totalSupplyOf(supply), token.decimals),
    circulatingSupply: formatDecimal(circulating, token.decimals),
    holderCount: await countHolders(connection, token.symbol),
    marketCapUsd: usdOf(price === null ? null : valueAt(circulating, token.decimals, price)),
    marketCapUsdExact: price === null ? null : toValueExact(circulating, token.decimals, price),
  }
}
