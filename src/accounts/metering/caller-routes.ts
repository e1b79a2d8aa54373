import { changeLimitsRoute, readLimitsRoute } from '#accounts/keys/change-limits.ts'
import {
  labelRoute,
  listRoute,
  mintRoute,
  moveBalanceRoute,
  revokeRoute,
  rotateRoute,
} from '#accounts/keys/manage-keys.ts'
import { messageRoute } from '#accounts/keys/message.ts'
import { reportLeakRoute } from '#accounts/keys/revoked-keys.ts'
import type { Context } from '#context.ts'
import type { Route } from '#route.ts'
import { gateRoute } from './tier.ts'
import { usageHistoryRoute, usageRoute } from './usage/usage.ts'

export function callerRoutes(ctx: Context): readonly Route[] {
  return [
    ...(ctx.ecosystem.gate === null ? [] : [mintRoute(ctx), gateRoute(ctx)]),
    listRoute(ctx),
    messageRoute(ctx),
    revokeRoute(ctx),
    rotateRoute(ctx),
    labelRoute(ctx),
    readLimitsRoute(ctx),
    changeLimitsRoute(ctx),
    moveBalanceRoute(ctx),
    reportLeakRoute(ctx),
    usageRoute(ctx),
    usageHistoryRoute(ctx),
  ]
}
