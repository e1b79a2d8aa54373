import { Type } from 'typebox'
import type { Context } from '#context.ts'
import { dividends } from '#data/dividends/kind.ts'
import { accountOf, type EventList, eventRow, listRoute } from '#data/event-lists.ts'
import { addressText, nullable } from '#data/meta.ts'
import { walletClaims } from './claims-route.ts'
import { dividendTotals } from './total-route.ts'

const list: EventList = {
  kind: dividends,
  path: '/api/dividends/recent',
  operationId: 'listPayouts',
  summary: 'Latest payout events',
  description:
    'Claims and distributions of every chain, newest first. Events with amount 0 are not listed.',
  row: eventRow('Payout', {
    kind: Type.Enum(['claim', 'distribution'], {
      description:
        '`claim`: paid to a wallet; `distribution`: put into the pot, which the totals do not count',
    }),
    recipient: nullable(addressText),
  }),
  own: (event) => ({ kind: event.kind, recipient: accountOf(event) }),
}

export const dividendEndpoints = {
  list,
  routes: (ctx: Context) => [dividendTotals(ctx), listRoute(ctx, list), walletClaims(ctx)],
}
