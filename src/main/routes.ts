import { callerRoutes } from '#accounts/metering/caller-routes.ts'
import { holderRoute } from '#chains/datasets/holders/ranking/holder-route.ts'
import { holdersRoute } from '#chains/datasets/holders/ranking/holders-route.ts'
import { kindRoutes } from '#chains/kinds/endpoints.ts'
import { statsRoute } from '#chains/statistics/stats.ts'
import { statsHistoryRoute } from '#chains/statistics/stats-history.ts'
import { supplyRoutes } from '#chains/statistics/supply.ts'
import type { Context } from '#context.ts'
import { paymentsRoutes } from '#money/payments/prepay-routes.ts'
import { settlingSettingOf } from '#money/x402/facilitator.ts'
import { topupRoutes } from '#money/x402/topup-routes.ts'
import type { Route } from '#route/route.ts'
import { streamRoute } from '#serving/stream/stream-route.ts'
import { webhookRoutes } from '#serving/webhooks/webhook-routes.ts'

/** The operations of the API. Those that calls are charged for come first. */
export function routesOf(ctx: Context): readonly Route[] {
  return [
    ...dataRoutes(ctx),
    streamRoute(ctx),
    ...supplyRoutes(ctx),
    ...callerRoutes(ctx),
    ...webhookRoutes(ctx),
    ...(ctx.ecosystem.payment === null ? [] : paymentsRoutes(ctx)),
    ...(settlingSettingOf(ctx) === undefined ? [] : topupRoutes(ctx)),
  ]
}

export function dataRoutes(ctx: Context): readonly Route[] {
  return [
    statsRoute(ctx),
    statsHistoryRoute(ctx),
    holdersRoute(ctx),
    holderRoute(ctx),
    ...kindRoutes(ctx),
  ]
}
