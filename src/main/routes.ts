import { type CallerRoutesDeps, callerRoutes } from '#accounts/metering/caller-routes.ts'
import type { DataDeps } from '#chains/datasets/data-route.ts'
import { holderRoute } from '#chains/datasets/holders/ranking/holder-route.ts'
import { holdersRoute } from '#chains/datasets/holders/ranking/holders-route.ts'
import type { DollarPrices } from '#chains/datasets/prices/price-book.ts'
import { kindRoutes } from '#chains/kinds/endpoints.ts'
import { newlyMinted } from '#chains/statistics/newly-minted.ts'
import { priceAt, statsRoute } from '#chains/statistics/stats.ts'
import { statsHistoryRoute } from '#chains/statistics/stats-history.ts'
import { supplyRoutes } from '#chains/statistics/supply.ts'
import type { PaymentsDeps } from '#money/payments/payments-deps.ts'
import { paymentsRoutes } from '#money/payments/prepay-routes.ts'
import { type TopupDeps, topupRoutes } from '#money/x402/topup-routes.ts'
import type { Route } from '#route/route.ts'
import { type StreamDeps, streamRoute } from '#serving/stream/stream-route.ts'
import { type WebhooksDeps, webhookRoutes } from '#serving/webhooks/webhook-routes.ts'

export interface RoutesDeps {
  readonly data: DataDeps & StreamDeps & { readonly prices: DollarPrices }
  readonly metering: CallerRoutesDeps
  readonly webhooks: WebhooksDeps
  /** Undefined without payments. */
  readonly payments: PaymentsDeps | undefined
  /** Undefined where x402 payments are not settled. */
  readonly topup: TopupDeps | undefined
}

/** The operations of the API. Those that calls are charged for come first. */
export function routesOf({
  data,
  metering,
  webhooks,
  payments,
  topup,
}: RoutesDeps): readonly Route[] {
  const metered = [
    statsRoute(data),
    statsHistoryRoute(data),
    holdersRoute(data),
    holderRoute(data),
    ...kindRoutes({ ...data, priceAt: priceAt(data), mintedOf: newlyMinted }),
    streamRoute(data),
  ]
  return [
    ...metered,
    ...supplyRoutes(data),
    ...callerRoutes(metering),
    ...webhookRoutes(webhooks),
    ...(payments === undefined ? [] : paymentsRoutes(payments)),
    ...(topup === undefined ? [] : topupRoutes(topup)),
  ]
}
