import { Type } from 'typebox'
import type { Context } from '#context.ts'
import { isRefusal } from '#domain/refusal.ts'
import { named } from '#lib/schema.ts'
import type { Route } from '#route/route.ts'
import { dataRoute } from '../../data-route.ts'
import { HOLDERS } from '../../dataset-names.ts'
import { hashOf, OTHER_FILTERS } from '../../event-lists.ts'
import { limitParameter } from '../../parameters.ts'
import { refuseElsewhere, type ScopeQuery, scopeParameters } from '../scope.ts'
import { encodeCursor, holderCursorParameter } from './holder-cursor.ts'
import { readLargest, readSeen } from './queries.ts'
import { holderProperties, leftOutOf, openRanking, showHolder } from './show-holder.ts'

const holderRow = named('Holder', {
  rank: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
    description: 'Null if excluded',
  }),
  ...holderProperties,
})

export function holdersRoute(ctx: Context): Route {
  const leftOut = leftOutOf(ctx.ecosystem)
  return dataRoute(ctx, {
    path: '/api/holders',
    operationId: 'listHolders',
    tag: 'Holders',
    summary: 'Holders by balance',
    description:
      'Who holds a token, largest balance first, equal ones by address in descending order, over all chains or on one. Burn addresses and those that do not circulate are marked and have no rank.',
    parameters: {
      limit: limitParameter(20),
      ...scopeParameters(ctx.ecosystem),
      cursor: holderCursorParameter,
    },
    datasets: () => [HOLDERS],
    data: Type.Array(holderRow),
    paged: true,
    csv: { row: holderRow, rows: (data) => data as readonly object[] },
    refusals: ['invalid_cursor'],
    check({ cursor, ...asked }) {
      const refused = refuseElsewhere(asked)
      if (refused !== undefined || cursor === undefined) return refused
      return cursor.filters === filtersOf(asked) ? undefined : OTHER_FILTERS
    },
    async read({ connection, status, parameters: { limit, cursor, ...asked } }) {
      const opened = await openRanking(connection, status, asked)
      if (isRefusal(opened)) return opened
      const { scope, supply } = opened
      const found = await readLargest(connection, scope, {
        limit: limit + 1,
        after: cursor?.after,
      })
      const rows = found.slice(0, limit)
      const addresses = rows.map(({ address }) => address)
      const seen = await readSeen(connection, scope, addresses)
      let ranked = cursor?.ranked ?? 0
      const data = rows.map((each) => {
        const { token } = asked
        const shown = showHolder(each, { token, supply, seen: seen.get(each.address), leftOut })
        if (!shown.excluded) ranked += 1
        return { rank: shown.excluded ? null : ranked, ...shown }
      })
      const last = rows.at(-1)
      const isMore = found.length > limit && last !== undefined
      const nextCursor = isMore
        ? encodeCursor({ filters: filtersOf(asked), ranked, after: last })
        : null
      return { data, page: { limit, count: data.length, nextCursor } }
    },
  })
}

function filtersOf({ token, chain }: ScopeQuery): string {
  return hashOf([HOLDERS, token.symbol, chain?.name])
}
