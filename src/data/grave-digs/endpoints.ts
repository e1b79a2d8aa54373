import { Type } from 'typebox'
import type { Context } from '#context.ts'
import { accountOf, type EventList, eventRow, listRoute } from '#data/event-lists.ts'
import { graveDigs } from '#data/grave-digs/kind.ts'
import { addressText, nullable } from '#data/meta.ts'
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
  routes: (ctx: Context) => [listRoute(ctx, list), leaderboard(ctx)],
}
