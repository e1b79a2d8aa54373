import { type Static, Type } from 'typebox'
import { named } from '#base/schema.ts'
import type { Context } from '#context.ts'
import { BURNS } from '#data/burns/kind.ts'
import { dataRoute } from '#data/data-route.ts'
import {
  amounts,
  amountText,
  rawText,
  unixTime,
  unpricedCount,
  usdOf,
  usdOrNull,
} from '#data/meta.ts'
import {
  chainParameter,
  periodParameter,
  type SeriesDay,
  seriesDays,
  tokenParameter,
  valuesAtDayEnds,
} from '#data/parameters.ts'
import type { Connection } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import type { Chain, PricedToken } from '#ecosystem/ecosystem.ts'
import {
  addSums,
  dollarsOf,
  NOTHING,
  readEventDays,
  type Sums,
  sumTotals,
  takeSums,
  totalOf,
  unpricedOf,
} from '#index/events/sums.ts'
import type { IndexStatus } from '#index/status.ts'
import type { Route } from '#route.ts'

const dayRow = named('BurnDay', {
  date: Type.String({ format: 'date' }),
  dateUnix: unixTime,
  token: Type.String(),
  chain: Type.String({ description: 'A chain, or `all`' }),
  burned: amountText,
  burnedRaw: rawText,
  burnedUsdAtEvent: usdOrNull,
  unpricedCount,
  burnCount: Type.Integer(),
  cumulative: amountText,
  cumulativeRaw: rawText,
  complete: Type.Boolean({ description: 'False for today' }),
})

export const burnSums = named('BurnSums', {
  burned: amountText,
  burnedRaw: rawText,
  burnedUsdAtEvent: usdOrNull,
  unpricedCount,
  burnCount: Type.Integer(),
})

/** Answers GET /api/burns. */
export function dailyBurns(ctx: Context): Route {
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
      const source = { connection, status, token, chain }
      const firstUnix = period === 'all' ? await firstBurn(source) : undefined
      const days = await readDays(source, seriesDays(period, status.asOfUnix, firstUnix))
      return {
        data: days.map(({ row }) => row),
        totals: burnedMembers(sumOf(days), token.decimals),
      }
    },
  })
}

interface BurnDay {
  readonly row: Static<typeof dayRow>
  readonly burned: Sums
  readonly burnedUntil: Sums
}

function sumOf(days: readonly BurnDay[]): Sums {
  const [first, last] = [days[0], days.at(-1)]
  if (first === undefined || last === undefined) return NOTHING
  return addSums(takeSums(last.burnedUntil, first.burnedUntil), first.burned)
}

interface BurnSource {
  readonly connection: Connection
  readonly status: IndexStatus
  readonly token: PricedToken
  readonly chain: Chain | undefined
}

async function readDays(
  { connection, token, chain }: BurnSource,
  days: readonly SeriesDay[],
): Promise<readonly BurnDay[]> {
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
  const until = valuesAtDayEnds(days, now, (sums, day) => takeSums(sums, byDay.get(day) ?? NOTHING))
  return days.map(({ date, dateUnix, complete }, index) => {
    const burned = byDay.get(dateUnix) ?? NOTHING
    const burnedUntil = until[index] ?? NOTHING
    const row = {
      date,
      dateUnix,
      token: token.symbol,
      chain: chain?.name ?? 'all',
      ...burnedMembers(burned, token.decimals),
      ...amounts('cumulative', burnedUntil.amount, token.decimals),
      complete,
    }
    return { row, burned, burnedUntil }
  })
}

async function firstBurn({ connection, status, token, chain }: BurnSource) {
  const chains = status.chains.map((each) => each.chain)
  const firsts = []
  for (const { id } of chains.filter((each) => chain === undefined || each.id === chain.id)) {
    const { firstUnix } = await firstAndLastBurn(connection, token.symbol, id)
    if (firstUnix !== null) firsts.push(firstUnix)
  }
  return firsts.length === 0 ? undefined : Math.min(...firsts)
}

export function burnedMembers(sums: Sums, decimals: number) {
  return {
    ...amounts('burned', sums.amount, decimals),
    burnedUsdAtEvent: usdOf(dollarsOf(sums)),
    unpricedCount: unpricedOf(sums),
    burnCount: sums.events,
  }
}

/** Returns Unix seconds; null if never burned. */
export async function firstAndLastBurn(
  connection: Connection,
  token: string,
  chainId: number,
): Promise<{ readonly firstUnix: number | null; readonly lastUnix: number | null }> {
  const ofChain = sql`from events
    where dataset = ${BURNS} and token = ${token} and chain_id = ${chainId}`
  const [row] = await connection.run(sql`
    select
      (select timestamp_unix ${ofChain} order by timestamp_unix limit 1) as first_unix,
      (select timestamp_unix ${ofChain} order by timestamp_unix desc limit 1) as last_unix`)
  return {
    firstUnix: row === undefined ? null : column.integerOrNull(row, 'first_unix'),
    lastUnix: row === undefined ? null : column.integerOrNull(row, 'last_unix'),
  }
}
