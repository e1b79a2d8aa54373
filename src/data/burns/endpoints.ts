import { Type } from 'typebox'
import type { Context } from '#context.ts'
import { burns } from '#data/burns/kind.ts'
import { accountOf, type EventList, eventRow, listRoute } from '#data/event-lists.ts'
import { addressText } from '#data/meta.ts'
import { dailyBurns } from './daily-route.ts'
import { burnTotals } from './total-route.ts'

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
  own: (event) => ({ from: accountOf(event), method: event.kind }),
}

export const burnEndpoints = {
  list,
  routes: (ctx: Context) => [dailyBurns(ctx), burnTotals(ctx), listRoute(ctx, list)],
}
