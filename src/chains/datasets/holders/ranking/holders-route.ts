import { isRefusal } from '#domain/refusal.ts'
import { named, Type } from '#lib/type.ts'
import type { Route } from '#route/route.ts'
import { type DataDeps, dataRoute } from '../../data-route.ts'
import { HOLDERS } from '../../dataset-names.ts'
import { hashOf, OTHER_FILTERS } from '../../event-rows.ts'
import { limitParameter } from '../../parameters.ts'
import { type Asked, refuseElsewhere, scopeParameters } from '../scope.ts'
import { encodeCursor, holderCursorParameter } from './holder-cursor.ts'
import { readLargest, readSeen } from './queries.ts'
import { holderProperties, leftOutOf, openRanking, showHolder } from './show-holder.ts'

const holderRow = named('Holder', {
  rank: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
    description: 'Null if excluded',
  }),
  ...holderProperties,
})

export function holdersRoute(deps: DataDeps): Route {
  const leftOut = leftOutOf(deps.ecosystem)
  return dataRoute(deps, {
    path: '/api/holders',
    operationId: 'listHolders',
    tag: 'Holders',
    summary: 'Holders by balance',
    description:
      'Who holds a token, largest balance first, equal ones by address in descending order, over all chains or on one. Burn addresses and those that do not circulate are marked and have no rank. Blocks of `asOfBlock` and `asOfUnix` must not be older than the final block of each chain, and balances may have changed at most 5,000 times on a chain since.',
    parameters: {
      limit: limitParameter(20),
      ...scopeParameters(deps.ecosystem),
      cursor: holderCursorParameter,
    },
    datasets: () => [HOLDERS],
    data: Type.Array(holderRow),
    paged: true,
    asOf: true,
    csv: { row: holderRow, rows: (data) => data as readonly object[] },
    refusals: ['invalid_cursor'],
    check({ cursor, ...asked }, point) {
      const refused = refuseElsewhere(asked)
      if (refused !== undefined || cursor === undefined || typeof point === 'object') return refused
      const filters = filtersOf(asked, point === 'latest' ? undefined : point)
      return cursor.filters === filters ? undefined : OTHER_FILTERS
    },
    async read({ connection, status, snapshot, boundTo, parameters: { limit, cursor, ...asked } }) {
      const filters = filtersOf(asked, boundTo)
      if (cursor !== undefined && cursor.filters !== filters) return OTHER_FILTERS
      const opened = await openRanking(connection, deps, { status, snapshot, asked })
      if (isRefusal(opened)) return opened
      const { scope, supply, moved } = opened
      const found = await readLargest(connection, scope, {
        limit: limit + 1,
        after: cursor?.after,
        moved,
      })
      const rows = found.slice(0, limit)
      const addresses = rows.map(({ address }) => address)
      const seen = await readSeen(connection, scope, { addresses, moved, snapshot })
      let ranked = cursor?.ranked ?? 0
      const data = rows.map((each) => {
        const { token } = asked
        const shown = showHolder(each, { token, supply, seen: seen.get(each.address), leftOut })
        if (!shown.excluded) ranked += 1
        return { rank: shown.excluded ? null : ranked, ...shown }
      })
      const last = rows.at(-1)
      const isMore = found.length > limit && last !== undefined
      const nextCursor = isMore ? encodeCursor({ filters, ranked, after: last }) : null
      return { data, page: { limit, count: data.length, nextCursor } }
    },
  })
}

function filtersOf({ token, chain }: Asked, boundTo: string | undefined): string {
  return hashOf([HOLDERS, token.symbol, chain?.name, boundTo])
}
