import { Type } from 'typebox'
import { type Address, showAddress } from '#base/address.ts'
import { percentage, valueAt } from '#base/money.ts'
import { named } from '#base/schema.ts'
import type { Context } from '#context.ts'
import { dataRoute } from '#data/data-route.ts'
import { GRAVE_DIGS } from '#data/grave-digs/kind.ts'
import {
  addressText,
  amounts,
  amountText,
  rawText,
  unixTime,
  usdOf,
  usdOrNull,
} from '#data/meta.ts'
import { limitParameter, tokenParameter } from '#data/parameters.ts'
import { priceAt } from '#data/prices/price-book.ts'
import type { Connection } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import { sumTotals, totalOf } from '#index/events/sums.ts'
import type { Route } from '#route.ts'

const leaderRow = named('Leader', {
  rank: Type.Integer({ minimum: 1 }),
  address: addressText,
  token: Type.String(),
  totalClaimed: amountText,
  totalClaimedRaw: rawText,
  totalClaimedUsdNow: usdOrNull,
  sharePct: Type.Number({ minimum: 0, maximum: 100 }),
  digCount: Type.Integer(),
  firstDigUnix: unixTime,
  lastDigUnix: unixTime,
})

export function leaderboard(ctx: Context): Route {
  return dataRoute(ctx, {
    path: '/api/grave-digs/leaderboard',
    operationId: 'rankGraveDiggers',
    tag: 'Grave digs',
    summary: 'Top grave diggers',
    description:
      'Wallets ranked by the total they claimed; equal totals by the earlier last dig, then by address. Events with amount 0 are not counted.',
    parameters: {
      limit: limitParameter(10),
      token: tokenParameter(ctx.ecosystem.tokens, ctx.ecosystem.primary),
    },
    data: Type.Array(leaderRow),
    csv: { row: leaderRow, rows: (data) => data as readonly object[] },
    async read({ connection, status, parameters: { token, limit } }) {
      const totals = await sumTotals(connection, GRAVE_DIGS)
      const all = totalOf(totals, (each) => each.token === token.symbol)
      const price = await priceAt(ctx, connection, token.symbol, status.asOfUnix)
      const leaders = await readLeaderboard(connection, { token: token.symbol, limit })
      const data = leaders.map((leader, index) => ({
        rank: index + 1,
        address: showAddress(leader.address),
        token: token.symbol,
        ...amounts('totalClaimed', leader.amount, token.decimals),
        totalClaimedUsdNow: usdOf(price && valueAt(leader.amount, token.decimals, price)),
        sharePct: percentage(leader.amount, all.amount),
        digCount: leader.digs,
        firstDigUnix: leader.firstUnix,
        lastDigUnix: leader.lastUnix,
      }))
      return { data }
    },
  })
}

interface RankedDigger {
  readonly address: Address
  readonly amount: bigint
  readonly digs: number
  readonly firstUnix: number
  readonly lastUnix: number
}

/** Names the dataset as a literal, to match the partial index. */
export async function readLeaderboard(
  connection: Connection,
  input: { readonly token: string; readonly limit: number },
): Promise<readonly RankedDigger[]> {
  const found = await connection.run(sql`
    select account, amount, events, first_unix, last_unix from event_account_sums
    where dataset = 'grave-digs' and token = ${input.token}
    order by amount desc, last_unix, account
    limit ${input.limit}`)
  return found.map((row) => ({
    address: column.hex(row, 'account'),
    amount: column.bigint(row, 'amount'),
    digs: column.integer(row, 'events'),
    firstUnix: column.integer(row, 'first_unix'),
    lastUnix: column.integer(row, 'last_unix'),
  }))
}
