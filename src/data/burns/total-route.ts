import { Type } from 'typebox'
import { percentage, shareOf, valueAt } from '#base/money.ts'
import { named } from '#base/schema.ts'
import type { Context } from '#context.ts'
import { BURNS } from '#data/burns/kind.ts'
import { dataRoute } from '#data/data-route.ts'
import {
  amounts,
  amountText,
  areHoldersKnown,
  areTransfersReadable,
  nullable,
  rawText,
  unixTime,
  usdOf,
  usdOrNull,
} from '#data/meta.ts'
import { tokenParameter } from '#data/parameters.ts'
import { priceAt } from '#data/prices/price-book.ts'
import type { Connection } from '#db/engine.ts'
import type { PricedToken } from '#ecosystem/ecosystem.ts'
import { sumTotals, sumWindows, type TokenSums, totalOf } from '#index/events/sums.ts'
import type { IndexStatus } from '#index/status.ts'
import type { Route } from '#route.ts'
import { burnedMembers, burnSums, firstAndLastBurn } from './daily-route.ts'
import { newlyMinted } from './dataset.ts'

const totalShape = named('BurnTotals', {
  token: Type.String(),
  totalBurned: nullable(amountText),
  totalBurnedRaw: nullable(rawText),
  totalBurnedUsdNow: usdOrNull,
  pctOfMinted: Type.Union([Type.Number(), Type.Null()], {
    description:
      'Of everything newly minted, without bridge moves and mints undone in their transaction; null while the supply is unknown, or if bridges brought all of it',
  }),
  burnCount: Type.Integer(),
  last24h: burnSums,
  last7d: burnSums,
  last30d: burnSums,
  firstBurnUnix: nullable(unixTime),
  lastBurnUnix: nullable(unixTime),
  chains: Type.Array(
    named('ChainBurns', {
      chain: Type.String(),
      chainId: Type.Integer(),
      burned: amountText,
      burnedRaw: rawText,
      sharePct: Type.Number(),
      burnCount: Type.Integer(),
      lastBurnUnix: nullable(unixTime),
      asOfBlock: Type.Integer(),
    }),
  ),
})

export function burnTotals(ctx: Context): Route {
  return dataRoute(ctx, {
    path: '/api/burns/total',
    operationId: 'getBurnTotals',
    tag: 'Burns',
    summary: 'Total burned',
    description:
      'Everything ever burned of a token, with the last 24 hours, 7 and 30 days and the share of each chain; the chains add up exactly. Events with amount 0 are not counted.',
    parameters: { token: tokenParameter(ctx.ecosystem.tokens, ctx.ecosystem.primary) },
    data: totalShape,
    async read({ connection, status, parameters: { token } }) {
      const totals = (await sumTotals(connection, BURNS)).filter(
        ({ token: symbol }) => symbol === token.symbol,
      )
      const all = totalOf(totals)
      const isReadable = areTransfersReadable(status, token)
      const chains = await chainShares(connection, { status, token, totals })
      const price = await priceAt(ctx, connection, token.symbol, status.asOfUnix)
      const [day = [], week = [], month = []] = await sumWindows(connection, {
        dataset: BURNS,
        asOfUnix: status.asOfUnix,
      })
      const data = {
        token: token.symbol,
        ...amounts('totalBurned', isReadable ? all.amount : null, token.decimals),
        totalBurnedUsdNow: usdOf(
          isReadable ? price && valueAt(all.amount, token.decimals, price) : null,
        ),
        pctOfMinted: areHoldersKnown(status, token)
          ? shareOf(all.amount, await newlyMinted(connection, token.symbol))
          : null,
        burnCount: all.events,
        last24h: toWindow(day, token),
        last7d: toWindow(week, token),
        last30d: toWindow(month, token),
        firstBurnUnix: extreme(chains, 'firstUnix', Math.min),
        lastBurnUnix: extreme(chains, 'lastBurnUnix', Math.max),
        chains: chains.map(({ firstUnix, ...chain }) => chain),
      }
      return { data }
    },
  })
}

async function chainShares(
  connection: Connection,
  input: {
    readonly status: IndexStatus
    readonly token: PricedToken
    readonly totals: readonly TokenSums[]
  },
) {
  const { token, totals } = input
  const all = totalOf(totals)
  const shares = []
  for (const { chain, blockNumber } of input.status.chains) {
    const sums = totalOf(totals, (each) => each.chainId === chain.id)
    const times = await firstAndLastBurn(connection, token.symbol, chain.id)
    shares.push({
      chain: chain.name,
      chainId: chain.id,
      ...amounts('burned', sums.amount, token.decimals),
      sharePct: percentage(sums.amount, all.amount),
      burnCount: sums.events,
      firstUnix: times.firstUnix,
      lastBurnUnix: times.lastUnix,
      asOfBlock: blockNumber,
    })
  }
  return shares
}

function extreme<Name extends string>(
  chains: readonly Readonly<Record<Name, number | null>>[],
  name: Name,
  choose: (...values: number[]) => number,
): number | null {
  const known = chains.map((each) => each[name]).filter((each): each is number => each !== null)
  return known.length === 0 ? null : choose(...known)
}

function toWindow(found: readonly TokenSums[], token: PricedToken) {
  const sums = totalOf(found, (each) => each.token === token.symbol)
  return burnedMembers(sums, token.decimals)
}
