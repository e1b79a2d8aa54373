import type { KeyDeps } from '#accounts/keys/authorise.ts'
import { changeLimitsRoute, readLimitsRoute } from '#accounts/keys/change-limits.ts'
import { type GateDeps, gateRoute } from '#accounts/keys/gate-route.ts'
import { listRoute } from '#accounts/keys/list-keys.ts'
import {
  labelRoute,
  moveBalanceRoute,
  revokeRoute,
  rotateRoute,
} from '#accounts/keys/manage-keys.ts'
import { type MessageDeps, messageRoute } from '#accounts/keys/message-route.ts'
import { mintRoute } from '#accounts/keys/mint.ts'
import { reportLeakRoute } from '#accounts/keys/report-leak.ts'
import type { Context } from '#context.ts'
import type { Route } from '#route/route.ts'
import { usageRoute } from './usage/usage.ts'
import { usageHistoryRoute } from './usage/usage-history.ts'

export interface CallerRoutesDeps extends KeyDeps, MessageDeps, Omit<GateDeps, 'gate'> {}

export function callerRoutes(ctx: Context, deps: CallerRoutesDeps): readonly Route[] {
  const { gate } = deps
  return [
    ...(gate === null ? [] : [mintRoute({ ...deps, gate }), gateRoute({ ...deps, gate })]),
    listRoute(deps),
    messageRoute(deps),
    revokeRoute(deps),
    rotateRoute(deps),
    labelRoute(deps),
    readLimitsRoute(deps),
    changeLimitsRoute(deps),
    moveBalanceRoute(deps),
    reportLeakRoute(deps),
    usageRoute(ctx),
    usageHistoryRoute(ctx),
  ]
}
