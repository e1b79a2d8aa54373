import { type DataDeps, dataRoute } from '#datasets/data-route.ts'
import { HOLDERS } from '#datasets/dataset-names.ts'
import { addDollars, valueNow } from '#datasets/dividends/value-now.ts'
import { circulatingOf, holdersAt, supplyAt, totalSupplyOf } from '#datasets/holders/queries.ts'
import type { DollarPrices } from '#datasets/prices/price-book.ts'
import {
  amounts,
  amountText,
  nullable,
  priceNumber,
  priceText,
  rawText,
  unixTime,
  usdOf,
  usdOrNull,
} from '#datasets/wire.ts'
import { showAddress } from '#domain/address.ts'
import { toUsdPrice, toUsdPriceExact, toValueExact, valueAt } from '#domain/money.ts'
import { isTracked } from '#domain/token.ts'
import type { PricedToken } from '#ecosystem/ecosystem.ts'
import { BURNS } from '#ecosystem/event-kinds/burns.ts'
import { DIVIDENDS } from '#ecosystem/event-kinds/dividends.ts'
import { GRAVE_DIGS } from '#ecosystem/event-kinds/grave-digs.ts'
import type { Cut } from '#indexer/cut.ts'
import { addSums, NOTHING } from '#indexer/events/event.ts'
import { dollarsOf, sumTotals, type TokenSums, totalOf } from '#indexer/events/sum-windows.ts'
import type { IndexStatus } from '#indexer/status.ts'
import { formatDecimal, percentage } from '#lib/decimal.ts'
import { DAY_SECONDS } from '#lib/time.ts'
import { named, Type } from '#lib/type.ts'
import type { Route } from '#route/route.ts'
import type { Connection } from '#store/engine.ts'

export type StatsDeps = DataDeps & { readonly prices: DollarPrices }

const tokenShape = named('TokenStats', {
  symbol: Type.String(),
  name: Type.String(),
  role: Type.Enum(['primary', 'secondary', 'reward']),
  decimals: Type.Integer(),
  addresses: Type.Record(Type.String(), Type.String()),
  totalSupply: nullable(amountText),
  circulatingSupply: nullable(amountText),
  totalBurned: nullable(amountText),
  holderCount: nullable(Type.Integer()),
  priceUsd: nullable(priceNumber),
  priceUsdExact: nullable(priceText),
  marketCapUsd: usdOrNull,
  marketCapUsdExact: nullable(priceText),
})

const statsShape = named('Stats', {
  totalBurned: amountText,
  totalBurnedRaw: rawText,
  burnedPct: Type.Number({ description: 'Of everything ever minted' }),
  circulatingSupply: amountText,
  circulatingSupplyRaw: rawText,
  totalSupply: amountText,
  totalSupplyRaw: rawText,
  holderCount: Type.Integer(),
  lifetimeDividendsUsdAtPayout: usdOrNull,
  lifetimeDividendsUsdNow: usdOrNull,
  lifetimeDividends: Type.Array(
    named('LifetimeDividends', {
      token: Type.String(),
      amount: amountText,
      amountRaw: rawText,
      usdAtPayout: usdOrNull,
      usdNow: usdOrNull,
    }),
  ),
  prices: Type.Record(
    Type.String(),
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

export function statsRoute(deps: StatsDeps): Route {
  return dataRoute(deps, {
    path: '/api/stats',
    operationId: 'getStats',
    tag: 'Statistics',
    summary: 'Current statistics',
    description:
      'Total burned, supply, holders, lifetime dividends, prices and grave digs as of the newest indexed block. With `finality=finalized`, supply and holders are those at the end of the last whole UTC day before the final blocks.',
    parameters: {},
    datasets: () => [HOLDERS, BURNS, DIVIDENDS, GRAVE_DIGS],
    data: statsShape,
    read: async ({ connection, status, cut }) => ({
      data: await readStats(connection, deps, { status, cut }),
    }),
  })
}

interface StatsAt {
  readonly status: IndexStatus
  /** Supply and holders are then those of the last whole day. */
  readonly cut: Cut | undefined
}

async function readStats(connection: Connection, deps: StatsDeps, at: StatsAt) {
  const { cut } = at
  const { primary } = deps.ecosystem
  const burns = await sumTotals(connection, BURNS, cut)
  const dividends = sumPerToken(await sumTotals(connection, DIVIDENDS, cut))
  const { lines, usdNow } = await valueNow(connection, {
    ...at,
    deps: { ...deps, priceAt: priceAt(deps) },
    sums: dividends,
  })
  const digs = totalOf(await sumTotals(connection, GRAVE_DIGS, cut), ofToken(primary))
  const supply = await supplyAt(connection, primary.symbol, cut)
  const burned = totalOf(burns, ofToken(primary)).amount
  return {
    ...amounts('totalBurned', burned, primary.decimals),
    burnedPct: percentage(burned, supply.minted),
    ...amounts('circulatingSupply', circulatingOf(supply), primary.decimals),
    ...amounts('totalSupply', totalSupplyOf(supply), primary.decimals),
    holderCount: await holdersAt(connection, primary.symbol, cut),
    lifetimeDividendsUsdAtPayout: usdOf(addDollars(dividends.map(dollarsOf))),
    lifetimeDividendsUsdNow: usdOf(usdNow),
    lifetimeDividends: lines.map((line) => ({
      token: line.token.symbol,
      ...amounts('amount', line.amount, line.token.decimals),
      usdAtPayout: usdOf(dollarsOf(line)),
      usdNow: usdOf(line.usdNow),
    })),
    prices: await readPrices(connection, deps, at),
    graveDigs: { count: digs.events, ...amounts('totalClaimed', digs.amount, primary.decimals) },
    tokens: await readTokens(connection, { ...at, deps, burns }),
  }
}

export function priceAt(deps: { readonly prices: DollarPrices }) {
  return async (connection: Connection, symbol: string, unix: number, cut?: Cut) =>
    (await deps.prices.latest(connection, symbol, unix, cut))?.price ?? null
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

async function readPrices(connection: Connection, deps: StatsDeps, { status, cut }: StatsAt) {
  const prices: Record<string, unknown> = {}
  for (const { symbol } of deps.ecosystem.tokens) {
    const now = await deps.prices.latest(connection, symbol, status.asOfUnix, cut)
    if (now === null) continue
    const dayBefore = status.asOfUnix - DAY_SECONDS
    const before = await deps.prices.latest(connection, symbol, dayBefore, cut)
    prices[symbol] = {
      usd: toUsdPrice(now.price),
      usdExact: toUsdPriceExact(now.price),
      change24hPct: before === null ? null : changePct(before.price, now.price),
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
  connection: Connection,
  input: StatsAt & { readonly deps: StatsDeps; readonly burns: readonly TokenSums[] },
) {
  const { deps, status, cut, burns } = input
  const tokens = []
  for (const token of deps.ecosystem.tokens) {
    const latest = await deps.prices.latest(connection, token.symbol, status.asOfUnix, cut)
    const price = latest?.price ?? null
    tokens.push({
      symbol: token.symbol,
      name: token.name,
      role: token.role,
      decimals: token.decimals,
      addresses: Object.fromEntries(
        [...token.addresses].map(([chain, address]) => [chain, showAddress(address)]),
      ),
      ...(isTracked(token) ? await trackedFigures(connection, token, { price, cut }) : UNTRACKED),
      totalBurned: isTracked(token)
        ? formatDecimal(totalOf(burns, ofToken(token)).amount, token.decimals)
        : null,
      priceUsd: price === null ? null : toUsdPrice(price),
      priceUsdExact: price === null ? null : toUsdPriceExact(price),
    })
  }
  return tokens
}

/** Only payouts of reward tokens are indexed, not every transfer. */
const UNTRACKED = {
  totalSupply: null,
  circulatingSupply: null,
  holderCount: null,
  marketCapUsd: null,
  marketCapUsdExact: null,
}

async function trackedFigures(
  connection: Connection,
  token: PricedToken,
  { price, cut }: { readonly price: bigint | null; readonly cut: Cut | undefined },
) {
  const supply = await supplyAt(connection, token.symbol, cut)
  const circulating = circulatingOf(supply)
  return {
    totalSupply: formatDecimal(totalSupplyOf(supply), token.decimals),
    circulatingSupply: formatDecimal(circulating, token.decimals),
    holderCount: await holdersAt(connection, token.symbol, cut),
    marketCapUsd: usdOf(price === null ? null : valueAt(circulating, token.decimals, price)),
    marketCapUsdExact: price === null ? null : toValueExact(circulating, token.decimals, price),
  }
}
