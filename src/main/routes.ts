import { callerRoutes } from '#accounts/metering/caller-routes.ts'
import type { UnconfiguredRoute } from '#api/server.ts'
import { refuse } from '#base/refusal.ts'
import type { Context } from '#context.ts'
import { kindRoutes } from '#data/endpoints.ts'
import { holderRoute, holdersRoute } from '#data/holders/endpoints.ts'
import { statsHistoryRoute } from '#data/stats/history.ts'
import { statsRoute, supplyRoutes } from '#data/stats/stats.ts'
import { streamRoute } from '#feed/stream-route.ts'
import { webhookRoutes } from '#feed/webhook-routes.ts'
import { paymentsRoutes } from '#payments/prepayments/prepay-routes.ts'
import { topupRoutes } from '#payments/x402/pay.ts'
import { readSettlingSetting } from '#payments/x402/settling.ts'
import type { Route } from '#route.ts'

/** All API operations. Metered ones come first. */
export function listRoutes(ctx: Context): readonly Route[] {
  return [
    ...dataRoutes(ctx),
    streamRoute(ctx),
    ...supplyRoutes(ctx),
    ...callerRoutes(ctx),
    ...webhookRoutes(ctx),
    ...(ctx.ecosystem.payment === null ? [] : paymentsRoutes(ctx)),
    ...(readSettlingSetting(ctx) === undefined ? [] : topupRoutes(ctx)),
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

const NO_PAYMENTS = refuse(
  'not_configured',
  'this service does not take payments; calls beyond the daily quota are refused until 00:00 UTC',
)

const NO_SETTLING = refuse(
  'not_configured',
  'this service settles no x402 payments; pay by transfer and POST /api/sessions/prepay',
)

const NO_KEYS = refuse(
  'not_configured',
  'this service does not mint API keys; calls are counted per client address',
)

export function unconfiguredRoutes(
  ctx: Pick<Context, 'config' | 'ecosystem'>,
): readonly UnconfiguredRoute[] {
  const { payment, gate } = ctx.ecosystem
  const missing: UnconfiguredRoute[] = []
  if (gate === null) missing.push({ method: 'POST', path: '/api/keys', refusal: NO_KEYS })
  if (payment === null)
    missing.push(
      { method: 'POST', path: '/api/sessions/prepay', refusal: NO_PAYMENTS },
      { method: 'GET', path: '/api/sessions/prepay/{idOrTxHash}', refusal: NO_PAYMENTS },
    )
  if (payment === null || readSettlingSetting(ctx) === undefined) {
    const refusal = payment === null ? NO_PAYMENTS : NO_SETTLING
    for (const method of ['GET', 'POST'] as const)
      missing.push({ method, path: '/api/sessions/topup', refusal })
  }
  return missing
}
