import { Type } from 'typebox'
import type { DataDeps } from '#chains/datasets/data-route.ts'
import { accountOf, eventRow } from '#chains/datasets/event-rows.ts'
import { type EventList, listRoute } from '#chains/datasets/list-route.ts'
import type { PriceAt } from '#chains/datasets/price-at.ts'
import { addressText, nullable } from '#chains/datasets/wire.ts'
import { graveDigs } from '#chains/kinds/grave-digs/kind.ts'
import { leaderboard } from './leaderboard-route.ts'

const list: EventList = {
  kind: graveDigs,
  path: '/api/grave-digs',
  operationId: 'listGraveDigs',
  summary: 'Recent grave digs',
  description:
    'Grave dig claims of every chain, newest first. Events with amount 0 are not listed.',
  row: eventRow('GraveDig', { digger: addressText, graveId: nullable(Type.String()) }),
  own: (event) => ({ digger: accountOf(event), graveId: event.detail }),
}

export const graveDigEndpoints = {
  list,
  routes: (deps: DataDeps & { readonly priceAt: PriceAt }) => [
    listRoute(deps, list),
    leaderboard(deps),
  ],
}
