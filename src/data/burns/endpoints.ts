import { Type } from 'typebox'
import { percentage, toShare, valueAt } from '#base/money.ts'
import { named } from '#base/schema.ts'
import type { Context } from '#context.ts'
import { BURNS, burns } from '#data/burns/kind.ts'
import { dataRoute } from '#data/data-route.ts'
import { type EventList, eventRow, listRoute, showAccount } from '#data/event-lists.ts'
import {
  addSums,
  NOTHING,
  type Sums,
  sumTotal,
  sumTotals,
  sumWindows,
  type TokenSums,
} from '#data/events/sums.ts'
import {
  addressText,
  amountShape,
  amountShapeOrNull,
  amounts,
  areHoldersKnown,
  areTransfersReadable,
  dollarShape,
  dollars,
  nullable,
  toUsdOrNull,
  unixTime,
  usdOrNull,
} from '#data/meta.ts'
import {
  chainParameter,
  periodParameter,
  readEventSeries,
  tokenParameter,
} from '#data/parameters.ts'
import { priceAt } from '#data/prices/price-book.ts'
import type { Connection } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import type { Route } from '#route.ts'
import { newlyMinted } from './dataset.ts'

const list: EventList = {
  kind: burns,
  path: '/api/burns/recent',
  operationId: 'listBurns',
  summary: 'Latest burns',
  description:
    'Burn transactions of every chain, newest first, with the counted amount. Events with amount 0 are not listed.',
  row: eventRow('Burn', {
    from: addressText,
    method: Type.Enum(['burn', 'transfer'], {
      description: '`burn`: to the zero address; `transfer`: to a burn address',
    }),
  }),
  own: (event) => ({ from: showAccount(event), method: event.kind }),
}

export const burnEndpoints = {
  list,
  routes: (ctx: Context) => [dailyBurns(ctx), burnTotals(ctx), listRoute(ctx, list)],
}

const sumProperties = {
  ...amountShape('burned'),
  ...dollarShape('burnedUsdAtEvent'),
  burnCount: Type.Integer(),
}

const burnSums = named('BurnSums', sumProperties)

function showSums(sums: Sums, decimals: number) {
  return {
    ...amounts('burned', sums.amount, decimals),
    ...dollars('burnedUsdAtEvent', sums),
    burnCount: sums.events,
  }
}

export const dayRow = named('BurnDay', {
  date: Type.String({ format: 'date' }),
  dateUnix: unixTime,
  token: Type.String(),
  chain: Type.String({ description: 'A chain, or `all`' }),
  ...sumProperties,
  ...amountShape('cumulative'),
  complete: Type.Boolean({ description: 'False for today' }),
})

function dailyBurns(ctx: Context): Route {
  const parameters = {
    period: periodParameter,
    chain: chainParameter(ctx.ecosystem),
    token: tokenParameter(ctx.ecosystem.tokens, ctx.ecosystem.primary),
  }
  return dataRoute(ctx, {
    path: '/api/burns',
    operationId: 'getDailyBurns',
    tag: 'Burns',
    summary: 'Daily burns',
    description:
      'One row per UTC day of the period, without gaps, oldest first; today is last and incomplete. Events with amount 0 are not counted.',
    parameters,
    data: Type.Array(dayRow),
    totals: burnSums,
    csv: { row: dayRow, rows: (data) => data as readonly object[] },
    async read({ connection, status, parameters: { period, chain, token } }) {
      const { asOfUnix } = status
      const of = { dataset: BURNS, token, chain }
      const series = await readEventSeries(connection, of, { period, asOfUnix })
      const data = series.map(({ day: { complete, ...day }, sums, until }) => ({
        ...day,
        token: token.symbol,
        chain: chain?.name ?? 'all',
        ...showSums(sums, token.decimals),
        ...amounts('cumulative', until.amount, token.decimals),
        complete,
      }))
      const all = series.reduce((sum, { sums }) => addSums(sum, sums), NOTHING)
      return { data, totals: showSums(all, token.decimals) }
    },
  })
}

export const totalShape = named('BurnTotals', {
  token: Type.String(),
  ...amountShapeOrNull('totalBurned'),
  totalBurnedUsdNow: usdOrNull,
  pctOfMinted: nullable(Type.Number(), {
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
      ...amountShape('burned'),
      sharePct: Type.Number(),
      burnCount: Type.Integer(),
      lastBurnUnix: nullable(unixTime),
      asOfBlock: Type.Integer(),
    }),
  ),
})

function burnTotals(ctx: Context): Route {
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
      const { symbol, decimals } = token
      const { asOfUnix } = status
      const ofToken = (each: TokenSums) => each.token === symbol
      const totals = (await sumTotals(connection, BURNS)).filter(ofToken)
      const all = sumTotal(totals)
      const burned = areTransfersReadable(status, token) ? all.amount : null
      const price = await priceAt(ctx, connection, symbol, asOfUnix)
      const [day = [], week = [], month = []] = await sumWindows(connection, {
        dataset: BURNS,
        asOfUnix,
      })
      const showWindow = (sums: readonly TokenSums[]) => showSums(sumTotal(sums, ofToken), decimals)
      const chains = []
      const times = []
      for (const { chain, blockNumber } of status.chains) {
        const sums = sumTotal(totals, ({ chainId }) => chainId === chain.id)
        const ofChain = await firstAndLastBurn(connection, symbol, chain.id)
        times.push(...ofChain)
        chains.push({
          chain: chain.name,
          chainId: chain.id,
          ...amounts('burned', sums.amount, decimals),
          sharePct: percentage(sums.amount, all.amount),
          burnCount: sums.events,
          lastBurnUnix: ofChain.at(-1) ?? null,
          asOfBlock: blockNumber,
        })
      }
      const data = {
        token: symbol,
        ...amounts('totalBurned', burned, decimals),
        totalBurnedUsdNow: toUsdOrNull(
          burned === null ? null : price && valueAt(burned, decimals, price),
        ),
        pctOfMinted: areHoldersKnown(status, token)
          ? toShare(all.amount, await newlyMinted(connection, symbol))
          : null,
        burnCount: all.events,
        last24h: showWindow(day),
        last7d: showWindow(week),
        last30d: showWindow(month),
        firstBurnUnix: times.length === 0 ? null : Math.min(...times),
        lastBurnUnix: times.length === 0 ? null : Math.max(...times),
        chains,
      }
      return { data }
    },
  })
}

async function firstAndLastBurn(
  connection: Connection,
  token: string,
  chainId: number,
): Promise<readonly number[]> {
  const ofChain = sql`from events
    where dataset = ${BURNS} and token = ${token} and chain_id = ${chainId}`
  const found = await connection.run(sql`
    select
      (select timestamp_unix ${ofChain} order by timestamp_unix limit 1) as first_unix,
      (select timestamp_unix ${ofChain} order by timestamp_unix desc limit 1) as last_unix`)
  const times = found.flatMap((row) =>
    ['first_unix', 'last_unix'].map((name) => column.integerOrNull(row, name)),
  )
  return times.filter((each) => each !== null)
}
