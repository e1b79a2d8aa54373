import { type Address, getAddress } from 'viem'
import { type Ticker, tokenOf } from './local-tokens.ts'
import type { Dig, Payout, Place } from './read-events.ts'
import {
  type Amount,
  addMicro,
  DAY,
  dayMembers,
  daysOf,
  dollars,
  isoOf,
  microUsd,
  microUsdThen,
  pair,
  percent,
  sum,
} from './show.ts'
import { type Burn, priceAt, type WorldAt } from './world-at.ts'

/** The members that every event row shares. */
function eventRow(world: WorldAt, event: Amount) {
  const { chainId, txHash, logIndex, blockNumber, unix, token, amount } = event
  const known = world.chains.find((each) => each.chain.id === chainId)
  if (known === undefined) throw new Error(`no chain ${chainId}`)
  const safe = blockNumber <= known.safeNumber ? 'safe' : 'latest'
  return {
    id: `${chainId}:${txHash}:${logIndex}`,
    chain: event.chain,
    chainId,
    blockNumber,
    txHash,
    logIndex,
    timestamp: isoOf(unix),
    timestampUnix: unix,
    finality: blockNumber <= known.finalizedNumber ? 'finalized' : safe,
    explorerUrl: null,
    token,
    ...pair('amount', amount, token),
    amountUsdAtEvent: dollars(microUsdThen(world, event)),
  }
}

export function burnRow(world: WorldAt, burn: Burn) {
  return { ...eventRow(world, burn), from: getAddress(burn.from), method: burn.method }
}

export function payoutRow(world: WorldAt, payout: Payout) {
  const recipient = payout.account && getAddress(payout.account)
  return { ...eventRow(world, payout), kind: payout.kind, recipient }
}

export function digRow(world: WorldAt, dig: Dig) {
  return { ...eventRow(world, dig), digger: getAddress(dig.digger), graveId: dig.graveId }
}

/** Dollars of events at their own time, in micro-dollars. */
export function usdAtEvents(world: WorldAt, events: readonly Amount[]): bigint | null {
  return addMicro(events.map((each) => microUsdThen(world, each)))
}

/** How many events have no value at their own time. */
export function unpricedOf(world: WorldAt, events: readonly Amount[]): number {
  return events.filter((each) => microUsdThen(world, each) === null).length
}

/** How many events are of tokens without a price now. */
export function unpricedNowOf(world: WorldAt, events: readonly Amount[]): number {
  return events.filter((each) => priceAt(world, each.token, world.asOfUnix) === null).length
}

export function amountOf(events: readonly Amount[]): bigint {
  return sum(events.map((each) => each.amount))
}

function usdNow(world: WorldAt, token: Ticker, amount: bigint): bigint | null {
  return microUsd(world, token, amount, world.asOfUnix)
}

const windows = { last24h: 1, last7d: 7, last30d: 30 } as const

function inWindows<T>(world: WorldAt, fill: (since: (each: Place) => boolean) => T) {
  const within = (days: number) => fill((each) => each.unix > world.asOfUnix - days * DAY)
  return {
    last24h: within(windows.last24h),
    last7d: within(windows.last7d),
    last30d: within(windows.last30d),
  }
}

function burnSums(world: WorldAt, token: Ticker, burns: readonly Burn[]) {
  return {
    ...pair('burned', amountOf(burns), token),
    burnedUsdAtEvent: dollars(usdAtEvents(world, burns)),
    unpricedCount: unpricedOf(world, burns),
    burnCount: burns.length,
  }
}

/** `data` and `meta.totals` of GET /api/burns. */
export function dailyBurns(
  world: WorldAt,
  asked: { readonly token: Ticker; readonly chain: string; readonly period: string },
) {
  const { token, chain, period } = asked
  const burns = world.burns.filter(
    (each) => each.token === token && (chain === 'all' || each.chain === chain),
  )
  const days = daysOf(world.asOfUnix, period, burns.at(-1)?.unix)
  const data = days.map((dateUnix) => {
    const { day, complete } = dayMembers(world, dateUnix)
    const until = burns.filter((each) => each.unix < dateUnix + DAY)
    const own = until.filter((each) => each.unix >= dateUnix)
    const cumulative = pair('cumulative', amountOf(until), token)
    return { ...day, token, chain, ...burnSums(world, token, own), ...cumulative, complete }
  })
  const inPeriod = burns.filter((each) => each.unix >= (days[0] ?? 0))
  return { data, totals: burnSums(world, token, inPeriod) }
}

/** `data` of GET /api/burns/total. */
export function burnTotals(world: WorldAt, token: Ticker, minted: bigint) {
  const burns = world.burns.filter((each) => each.token === token)
  const all = amountOf(burns)
  return {
    token,
    ...pair('totalBurned', all, token),
    totalBurnedUsdNow: dollars(usdNow(world, token, all)),
    pctOfMinted: percent(all, minted),
    burnCount: burns.length,
    ...inWindows(world, (since) => burnSums(world, token, burns.filter(since))),
    firstBurnUnix: burns.at(-1)?.unix ?? null,
    lastBurnUnix: burns[0]?.unix ?? null,
    chains: world.chains.map(({ chain }) => {
      const own = burns.filter((each) => each.chainId === chain.id)
      return {
        chain: chain.name,
        chainId: chain.id,
        ...pair('burned', amountOf(own), token),
        sharePct: percent(amountOf(own), all),
        burnCount: own.length,
        lastBurnUnix: own[0]?.unix ?? null,
        asOfBlock: chain.blockNumber,
      }
    }),
  }
}

export function claimsOf(world: WorldAt): readonly Payout[] {
  return world.payouts.filter((each) => each.kind === 'claim')
}

export function symbolsOf(events: readonly Amount[]): Ticker[] {
  return [...new Set(events.map((each) => each.token))].sort()
}

/** `data` of GET /api/dividends/total. */
export function dividendTotals(world: WorldAt) {
  const claims = claimsOf(world)
  const sums = (list: readonly Payout[]) => ({
    usdAtPayout: dollars(usdAtEvents(world, list)),
    unpricedCount: unpricedOf(world, list),
    payoutCount: list.length,
  })
  const chains = [...world.chains].sort((a, b) => a.chain.id - b.chain.id)
  const lines = symbolsOf(claims).flatMap((token) =>
    chains.flatMap(({ chain }) => {
      const own = claims.filter((each) => each.token === token && each.chainId === chain.id)
      return own.length === 0
        ? []
        : [{ token, chain, own, now: usdNow(world, token, amountOf(own)) }]
    }),
  )
  // Rounded once per token over all chains.
  const nowOf = (token: Ticker) =>
    usdNow(world, token, amountOf(claims.filter((each) => each.token === token)))
  return {
    totalUsdAtPayout: dollars(usdAtEvents(world, claims)),
    unpricedCount: unpricedOf(world, claims),
    totalUsdNow: dollars(addMicro(symbolsOf(claims).map(nowOf))),
    unpricedNowCount: unpricedNowOf(world, claims),
    payoutCount: claims.length,
    recipientCount: new Set(claims.map((each) => each.account)).size,
    ...inWindows(world, (since) => sums(claims.filter(since))),
    tokens: lines.map(({ token, chain, own, now }) => ({
      token,
      chain: chain.name,
      address: getAddress(tokenOf(token).addresses[chain.name]),
      decimals: tokenOf(token).decimals,
      ...pair('amount', amountOf(own), token),
      usdAtPayout: dollars(usdAtEvents(world, own)),
      unpricedCount: unpricedOf(world, own),
      usdNow: dollars(now),
      ...inWindows(world, (since) => {
        const list = own.filter(since)
        return { ...pair('amount', amountOf(list), token), ...sums(list) }
      }),
    })),
  }
}

/** `data` of GET /api/dividends/{address}, its newest claims up to a limit. */
export function walletClaims(world: WorldAt, wallet: Address, limit: number) {
  const claims = claimsOf(world).filter((each) => each.account === wallet.toLowerCase())
  const tokens = symbolsOf(claims).map((token) => {
    const own = claims.filter((each) => each.token === token)
    return { token, own, now: usdNow(world, token, amountOf(own)) }
  })
  return {
    address: getAddress(wallet),
    summary: {
      claimCount: claims.length,
      usdAtClaim: dollars(usdAtEvents(world, claims)),
      unpricedCount: unpricedOf(world, claims),
      usdNow: dollars(addMicro(tokens.map((each) => each.now))),
      unpricedNowCount: unpricedNowOf(world, claims),
      firstClaimUnix: claims.at(-1)?.unix ?? null,
      lastClaimUnix: claims[0]?.unix ?? null,
      tokens: tokens.map(({ token, own, now }) => ({
        token,
        ...pair('amount', amountOf(own), token),
        usdAtClaim: dollars(usdAtEvents(world, own)),
        unpricedCount: unpricedOf(world, own),
        usdNow: dollars(now),
        claimCount: own.length,
      })),
    },
    claims: claims.slice(0, limit).map((each) => eventRow(world, each)),
  }
}

/** `data` of GET /api/grave-digs/leaderboard. */
export function leaderboard(world: WorldAt, token: Ticker, limit: number) {
  const digs = world.digs.filter((each) => each.token === token)
  const leaders = [...new Set(digs.map((each) => each.digger))].map((digger) => {
    const own = digs.filter((each) => each.digger === digger)
    return { digger, own, amount: amountOf(own), last: own[0]?.unix ?? 0 }
  })
  leaders.sort(
    (a, b) =>
      Number(b.amount > a.amount) - Number(b.amount < a.amount) ||
      a.last - b.last ||
      (a.digger < b.digger ? -1 : 1),
  )
  return leaders.slice(0, limit).map(({ digger, own, amount, last }, index) => ({
    rank: index + 1,
    address: getAddress(digger),
    token,
    ...pair('totalClaimed', amount, token),
    totalClaimedUsdNow: dollars(usdNow(world, token, amount)),
    sharePct: percent(amount, amountOf(digs)),
    digCount: own.length,
    firstDigUnix: own.at(-1)?.unix,
    lastDigUnix: last,
  }))
}
