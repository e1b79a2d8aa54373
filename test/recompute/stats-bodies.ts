import { type Address, formatUnits, getAddress } from 'viem'
import { addresses } from '#devnet/addresses.ts'
import {
  amountOf,
  claimsOf,
  symbolsOf,
  unpricedNowOf,
  unpricedOf,
  usdAtEvents,
} from './event-bodies.ts'
import { type Followed, followed, localTokens, type Ticker, tokenOf } from './local-tokens.ts'
import { PRICE_DECIMALS } from './price-scale.ts'
import {
  addMicro,
  DAY,
  dayMembers,
  daysOf,
  dollars,
  exactUsd,
  microUsd,
  pair,
  percent,
  sum,
  units,
} from './show.ts'
import { halfUp, holdersAt, lastMove, once, priceAt, supplyAt, type WorldAt } from './world-at.ts'

/** Supply and holders of a token now, by asking the contracts instead of adding events up. */
export interface AskedFigures {
  readonly total: bigint
  readonly circulating: bigint
  readonly holders: number
}

/** Asks every chain for the supply and for the balance of everyone who ever received a token. */
export async function askFigures(world: WorldAt, token: Followed): Promise<AskedFigures> {
  const supplies = await Promise.all(world.chains.map((each) => each.supplyOf(token)))
  const total = sum(supplies.map((each) => each.total))
  const holders = new Set<Address>()
  const known = holdersAt(world, token, world.asOfUnix)
  const everyone = new Set(world.transfers.map((each) => each.to))
  await Promise.all(
    world.chains.flatMap((chain) =>
      [...everyone].map(async (owner) => {
        if ((await chain.balanceOf(token, owner)) > 0n) holders.add(owner)
      }),
    ),
  )
  const locked = sum(supplies.map((each) => each.locked))
  const counted = [...holders].filter((owner) => known.has(owner)).length
  return { total, circulating: total - locked, holders: counted }
}

/** `data` of GET /api/stats. */
export function stats(world: WorldAt, asked: Readonly<Record<Followed, AskedFigures>>) {
  const burned = burnedOf(world, 'GRAVE')
  const claims = claimsOf(world)
  const lines = symbolsOf(claims).map((token) => {
    const own = claims.filter((each) => each.token === token)
    const now = microUsd(world, token, amountOf(own), world.asOfUnix)
    return { token, amount: amountOf(own), atPayout: usdAtEvents(world, own), own, now }
  })
  const digs = world.digs.filter((each) => each.token === 'GRAVE')
  const { minted } = supplyAt(world, 'GRAVE', world.asOfUnix)
  return {
    ...pair('totalBurned', burned, 'GRAVE'),
    burnedPct: percent(burned, minted),
    ...pair('circulatingSupply', asked.GRAVE.circulating, 'GRAVE'),
    ...pair('totalSupply', asked.GRAVE.total, 'GRAVE'),
    holderCount: asked.GRAVE.holders,
    lifetimeDividendsUsdAtPayout: dollars(addMicro(lines.map((line) => line.atPayout))),
    lifetimeDividendsUnpricedCount: unpricedOf(world, claims),
    lifetimeDividendsUsdNow: dollars(addMicro(lines.map((line) => line.now))),
    lifetimeDividendsUnpricedNowCount: unpricedNowOf(world, claims),
    lifetimeDividends: lines.map((line) => ({
      token: line.token,
      ...pair('amount', line.amount, line.token),
      usdAtPayout: dollars(line.atPayout),
      unpricedCount: unpricedOf(world, line.own),
      usdNow: dollars(line.now),
    })),
    prices: Object.fromEntries(localTokens.flatMap(({ symbol }) => priceEntry(world, symbol))),
    graveDigs: { count: digs.length, ...pair('totalClaimed', amountOf(digs), 'GRAVE') },
    tokens: localTokens.map(({ symbol }) => tokenEntry(world, symbol, asked)),
  }
}

function burnedOf(world: WorldAt, token: Ticker): bigint {
  return amountOf(world.burns.filter((each) => each.token === token))
}

function usdPrice(price: bigint): number {
  return Number(formatUnits(price, PRICE_DECIMALS))
}

function priceEntry(world: WorldAt, token: Ticker) {
  const now = priceAt(world, token, world.asOfUnix)
  if (now === null) return []
  const before = priceAt(world, token, world.asOfUnix - DAY)
  const { gravePair, cryptPair } = addresses.base.market
  const sources: Record<Ticker, string> = {
    GRAVE: `uniswap-v2:base:${getAddress(gravePair)}`,
    CRYPT: `uniswap-v2:base:${getAddress(cryptPair)}`,
    WETH: `chainlink:base:${getAddress(addresses.base.ethUsdFeed)}`,
    USDC: 'fixed',
  }
  const entry = {
    usd: usdPrice(now),
    usdExact: exactUsd(now),
    change24hPct: before === null ? null : percent(now - before, before),
    asOfUnix: newestInput(world, token),
    source: sources[token],
  }
  return [[token, entry]] as const
}

/** The pools quote in WETH, so its feed counts for their tokens. */
function newestInput(world: WorldAt, token: Ticker): number {
  if (token === 'USDC') return world.asOfUnix
  const moves = [lastMove(world, token, world.asOfUnix), lastMove(world, 'WETH', world.asOfUnix)]
  return Math.max(...moves.map((move) => move?.unix ?? 0))
}

function tokenEntry(
  world: WorldAt,
  symbol: Ticker,
  asked: Readonly<Record<Followed, AskedFigures>>,
) {
  const token = tokenOf(symbol)
  const price = priceAt(world, symbol, world.asOfUnix)
  const own = followed.find((each) => each === symbol)
  const figures = own && asked[own]
  const cap = figures && microUsd(world, symbol, figures.circulating, world.asOfUnix)
  return {
    symbol,
    name: token.name,
    role: token.role,
    decimals: token.decimals,
    addresses: {
      base: getAddress(token.addresses.base),
      ethereum: getAddress(token.addresses.ethereum),
    },
    totalSupply: figures ? units(figures.total, symbol) : null,
    circulatingSupply: figures ? units(figures.circulating, symbol) : null,
    holderCount: figures?.holders ?? null,
    marketCapUsd: dollars(cap ?? null),
    totalBurned: figures ? units(burnedOf(world, symbol), symbol) : null,
    priceUsd: price === null ? null : usdPrice(price),
    priceUsdExact: price === null ? null : exactUsd(price),
    priceUnknown: null,
    marketCapUsdExact: figures && price !== null ? capOf(symbol, figures.circulating, price) : null,
  }
}

const metricUnits = {
  supply: 'token',
  burned: 'token',
  burnedCumulative: 'token',
  holders: 'count',
  price: 'usd',
  marketCap: 'usd',
  dividends: 'usd',
  dividendsCumulative: 'usd',
  graveDigs: 'count',
} as const

export type MetricName = keyof typeof metricUnits
export const metricNames = Object.keys(metricUnits) as MetricName[]

/** `data` of GET /api/stats/history; without a token, dividends are those of all tokens. */
export function statsHistory(
  world: WorldAt,
  asked: { readonly metric: MetricName; readonly period: string; readonly token?: Followed },
) {
  const { metric, period } = asked
  const ofAll = asked.token === undefined && metric.startsWith('dividends')
  const token = asked.token ?? 'GRAVE'
  const events = eventsOf(world, metric, ofAll ? undefined : token)
  const firstUnix = events.at(-1)?.unix
  const name = ofAll ? 'all' : token
  const points = daysOf(world.asOfUnix, period, firstUnix).map((dateUnix) =>
    once(world, `${metric} of ${name} ${dateUnix}`, () => {
      const { day, complete } = dayMembers(world, dateUnix)
      const until = events.filter((each) => each.unix < dateUnix + DAY)
      const own = until.filter((each) => each.unix >= dateUnix)
      const exact = pointOf(world, { metric, token, dateUnix, until, own })
      const value = exact === null ? null : Number(exact)
      const unpricedCount = !metric.startsWith('dividends')
        ? null
        : unpricedOf(world, metric === 'dividends' ? own : until)
      return { ...day, value, valueExact: exact, unpricedCount, complete }
    }),
  )
  return { metric, token: name, unit: metricUnits[metric], period, interval: 'day', points }
}

type Events = ReturnType<typeof eventsOf>

/** The events behind a metric, newest first; behind a state, every transfer. */
function eventsOf(world: WorldAt, metric: MetricName, token: Ticker | undefined) {
  const lists = {
    burned: world.burns,
    burnedCumulative: world.burns,
    dividends: claimsOf(world),
    dividendsCumulative: claimsOf(world),
    graveDigs: world.digs,
  }
  const list = metric in lists ? lists[metric as keyof typeof lists] : world.transfers
  return list.filter((each) => token === undefined || each.token === token)
}

function pointOf(
  world: WorldAt,
  input: {
    readonly metric: MetricName
    readonly token: Followed
    readonly dateUnix: number
    readonly until: Events
    readonly own: Events
  },
): string | null {
  const { metric, token, dateUnix, until, own } = input
  const end = dateUnix + DAY - 1
  const price = priceAt(world, token, end)
  switch (metric) {
    case 'supply':
      return units(supplyAt(world, token, end).circulating, token)
    case 'burned':
      return units(amountOf(own), token)
    case 'burnedCumulative':
      return units(amountOf(until), token)
    case 'holders':
      return String(holdersAt(world, token, end).size)
    case 'price':
      return price === null ? null : exactUsd(price)
    case 'marketCap':
      return price === null ? null : capOf(token, supplyAt(world, token, end).circulating, price)
    case 'dividends':
      return exactSum(usdAtEvents(world, own))
    case 'dividendsCumulative':
      return exactSum(usdAtEvents(world, until))
    case 'graveDigs':
      return String(own.length)
  }
}

function exactSum(microUsd: bigint | null): string | null {
  return microUsd === null ? null : formatUnits(microUsd, 6)
}

function capOf(token: Ticker, circulating: bigint, price: bigint): string {
  return exactUsd(halfUp(circulating * price, 10n ** BigInt(tokenOf(token).decimals)))
}
