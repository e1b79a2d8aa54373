import type { Chain, PricedToken } from '#ecosystem/ecosystem.ts'
import type { Route } from '#http/route.ts'
import { addSums, NOTHING, type Sums } from '#indexer/events/event.ts'
import { readEventDays } from '#indexer/events/event-days.ts'
import { dollarsOf, sumTotals, totalOf } from '#indexer/events/sum-windows.ts'
import type { IndexStatus } from '#indexer/status.ts'
import { Type } from '#lib/type.ts'
import type { Connection } from '#store/engine.ts'
import { type DataDeps, dataRoute } from '../data-route.ts'
import { type SeriesDay, seriesDays, valuesAtDayEnds } from '../day-rows.ts'
import { chainParameter, type Period, periodParameter, tokenParameter } from '../parameters.ts'
import { amounts, amountText, rawText, unixTime, usdOf, usdOrNull } from '../wire.ts'
import { BURNS } from './dataset.ts'
import { firstAndLastBurn } from './queries.ts'

const dayRow = Type.Object({
  date: Type.String({ format: 'date' }),
  dateUnix: unixTime,
  token: Type.String(),
  chain: Type.String({ description: 'A chain, or `all`' }),
  burned: amountText,
  burnedRaw: rawText,
  burnedUsdAtEvent: usdOrNull,
  burnCount: Type.Integer(),
  cumulative: amountText,
  cumulativeRaw: rawText,
  complete: Type.Boolean({ description: 'False for today' }),
})

const totalsShape = Type.Object({
  burned: amountText,
  burnedRaw: rawText,
  burnedUsdAtEvent: usdOrNull,
  burnCount: Type.Integer(),
})

/** GET /api/burns: one row for every UTC day of the period, without gaps. */
export function dailyBurns(deps: DataDeps): Route {
  return dataRoute(deps, {
    path: '/api/burns',
    operationId: 'getDailyBurns',
    tag: 'Burns',
    summary: 'Daily burns',
    description:
      'Burns per UTC day for charts: exactly n rows without gaps, oldest first; today is last and not complete.',
    parameters: {
      period: periodParameter,
      chain: chainParameter(deps.ecosystem),
      token: tokenParameter(deps.ecosystem.tokens, deps.ecosystem.primary),
    },
    data: Type.Array(dayRow),
    totals: totalsShape,
    csv: { row: dayRow, rows: (data) => data as readonly object[] },
    read: ({ connection, status, parameters }) => readDaily(connection, status, parameters),
  })
}

interface DailyValues {
  readonly period: Period
  readonly chain: Chain | undefined
  readonly token: PricedToken
}

async function readDaily(connection: Connection, status: IndexStatus, values: DailyValues) {
  const { token, chain } = values
  const days = await daysOf(connection, status, values)
  const byDay = await readEventDays(connection, {
    dataset: BURNS,
    token: token.symbol,
    fromUnix: days[0]?.dateUnix ?? 0,
    ...(chain && { chainId: chain.id }),
  })
  const totals = await sumTotals(connection, BURNS)
  const now = totalOf(
    totals,
    (each) => each.token === token.symbol && (!chain || each.chainId === chain.id),
  )
  const cumulative = valuesAtDayEnds(days, now.amount, (day) => byDay.get(day)?.amount ?? 0n)
  const data = days.map(({ complete, ...day }, index) => ({
    ...day,
    token: token.symbol,
    chain: chain?.name ?? 'all',
    ...burnedMembers(byDay.get(day.dateUnix) ?? NOTHING, token.decimals),
    ...amounts('cumulative', cumulative[index] ?? 0n, token.decimals),
    complete,
  }))
  const window = [...byDay.values()].reduce(addSums, NOTHING)
  return { data, totals: burnedMembers(window, token.decimals) }
}

async function daysOf(
  connection: Connection,
  status: IndexStatus,
  { period, token, chain }: DailyValues,
): Promise<readonly SeriesDay[]> {
  if (period !== 'all') return seriesDays(period, status.asOfUnix, undefined)
  const chains = chain === undefined ? status.chains.map((each) => each.chain) : [chain]
  const firsts = []
  for (const { id } of chains) {
    const { firstUnix } = await firstAndLastBurn(connection, token.symbol, id)
    if (firstUnix !== null) firsts.push(firstUnix)
  }
  const first = firsts.length === 0 ? undefined : Math.min(...firsts)
  return seriesDays(period, status.asOfUnix, first)
}

function burnedMembers(sums: Sums, decimals: number) {
  return {
    ...amounts('burned', sums.amount, decimals),
    burnedUsdAtEvent: usdOf(dollarsOf(sums)),
    burnCount: sums.events,
  }
}
