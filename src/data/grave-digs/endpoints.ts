import { Type } from 'typebox'
import { showAddress } from '#base/address.ts'
import { percentage, valueAt } from '#base/money.ts'
import { named } from '#base/schema.ts'
import type { Context } from '#context.ts'
import { dataRoute } from '#data/data-route.ts'
import { type EventList, eventRow, listRoute, showAccount } from '#data/event-lists.ts'
import { sumTotal, sumTotals } from '#data/events/sums.ts'
import { GRAVE_DIGS, graveDigs } from '#data/grave-digs/kind.ts'
import {
  addressText,
  amountShape,
  amounts,
  nullable,
  toUsdOrNull,
  unixTime,
  usdOrNull,
} from '#data/meta.ts'
import { limitParameter, tokenParameter } from '#data/parameters.ts'
import { priceAt } from '#data/prices/price-book.ts'
import type { Connection } from '#db/engine.ts'
import { column, type Row, sql } from '#db/sql.ts'
import type { Route } from '#route.ts'

const list: EventList = {
  kind: graveDigs,
  path: '/api/grave-digs',
  operationId: 'listGraveDigs',
  summary: 'Recent grave digs',
  description:
    'Grave dig claims of every chain, newest first. Events with amount 0 are not listed.',
  row: eventRow('GraveDig', { digger: addressText, graveId: nullable(Type.String()) }),
  own: (event) => ({ digger: showAccount(event), graveId: event.detail }),
}

export const graveDigEndpoints = {
  list,
  routes: (ctx: Context) => [listRoute(ctx, list), leaderboard(ctx)],
}

export const leaderRow = named('Leader', {
  rank: Type.Integer({ minimum: 1 }),
  address: addressText,
  token: Type.String(),
  ...amountShape('totalClaimed'),
  totalClaimedUsdNow: usdOrNull,
  sharePct: Type.Number({ minimum: 0, maximum: 100 }),
  digCount: Type.Integer(),
  firstDigUnix: unixTime,
  lastDigUnix: unixTime,
})

function leaderboard(ctx: Context): Route {
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
      const all = sumTotal(totals, (each) => each.token === token.symbol)
      const price = await priceAt(ctx, connection, token.symbol, status.asOfUnix)
      const leaders = await readLeaderboard(connection, { token: token.symbol, limit })
      const data = leaders.map((row, index) => {
        const amount = column.bigint(row, 'amount')
        return {
          rank: index + 1,
          address: showAddress(column.hex(row, 'account')),
          token: token.symbol,
          ...amounts('totalClaimed', amount, token.decimals),
          totalClaimedUsdNow: toUsdOrNull(price && valueAt(amount, token.decimals, price)),
          sharePct: percentage(amount, all.amount),
          digCount: column.integer(row, 'events'),
          firstDigUnix: column.integer(row, 'first_unix'),
          lastDigUnix: column.integer(row, 'last_unix'),
        }
      })
      return { data }
    },
  })
}

/** Names the dataset as a literal, to match the partial index. */
export function readLeaderboard(
  connection: Connection,
  { token, limit }: { readonly token: string; readonly limit: number },
): Promise<readonly Row[]> {
  return connection.run(sql`
    select account, amount, events, first_unix, last_unix from event_account_sums
    where dataset = 'grave-digs' and token = ${token}
    order by amount desc, last_unix, account
    limit ${limit}`)
}
