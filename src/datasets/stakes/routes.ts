import { isRefusal } from '#domain/refusal.ts'
import { STAKES } from '#ecosystem/event-kinds/stakes.ts'
import { sumTotals, totalOf } from '#indexer/events/sum-last-days.ts'
import { Type } from '#lib/type.ts'
import type { Route } from '#route/route.ts'
import { type DataDeps, dataRoute } from '../data-route.ts'
import { accountOf, eventMembers, eventRow, listParameters, readEventPage } from '../event-rows.ts'
import { tokenParameter } from '../parameters.ts'
import { addressText, amounts, amountText, rawText } from '../wire.ts'

const stakeRow = eventRow({ kind: Type.Enum(['stake', 'withdrawal']), staker: addressText })

const totalShape = Type.Object({
  token: Type.String(),
  totalStaked: amountText,
  totalStakedRaw: rawText,
  stakeCount: Type.Integer(),
})

export function stakeRoutes(deps: DataDeps): readonly Route[] {
  return [recentStakes(deps), stakeTotals(deps)]
}

function recentStakes(deps: DataDeps): Route {
  return dataRoute(deps, {
    path: '/api/stakes',
    operationId: 'listStakes',
    tag: 'Stakes',
    summary: 'Latest stakes',
    description: 'Stakes and withdrawals of every chain, newest first.',
    parameters: listParameters(deps.ecosystem),
    datasets: () => [STAKES],
    data: Type.Array(stakeRow),
    paged: true,
    csv: { row: stakeRow, rows: (data) => data as readonly object[] },
    refusals: ['invalid_cursor'],
    async read({ connection, status, parameters }) {
      const found = await readEventPage(connection, { dataset: STAKES, status, values: parameters })
      if (isRefusal(found)) return found
      const data = found.events.map((event) => ({
        ...eventMembers(event, status, deps.ecosystem),
        kind: event.kind,
        staker: accountOf(event),
      }))
      return { data, page: found.page }
    },
  })
}

function stakeTotals(deps: DataDeps): Route {
  return dataRoute(deps, {
    path: '/api/stakes/total',
    operationId: 'getStakeTotals',
    tag: 'Stakes',
    summary: 'Total staked',
    description: 'Everything ever staked of a token, withdrawals not subtracted.',
    parameters: { token: tokenParameter(deps.ecosystem.tokens, deps.ecosystem.primary) },
    datasets: () => [STAKES],
    data: totalShape,
    async read({ connection, parameters: { token } }) {
      const sums = totalOf(
        await sumTotals(connection, STAKES),
        (each) => each.token === token.symbol,
      )
      const data = {
        token: token.symbol,
        ...amounts('totalStaked', sums.amount, token.decimals),
        stakeCount: sums.events,
      }
      return { data }
    },
  })
}
