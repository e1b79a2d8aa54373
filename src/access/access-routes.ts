import type { Route } from '#route/route.ts'
import { changeLimitsRoute, type LimitsDeps, readLimitsRoute } from './keys/change-limits.ts'
import { type GateDeps, gateRoute } from './keys/gate-route.ts'
import { listRoute } from './keys/list-keys.ts'
import { labelRoute, moveBalanceRoute, revokeRoute, rotateRoute } from './keys/manage-keys.ts'
import { type MessageDeps, messageRoute } from './keys/message-route.ts'
import { mintRoute } from './keys/mint.ts'
import { reportLeakRoute } from './keys/report-leak.ts'
import { type UsageDeps, usageRoute } from './usage/usage.ts'
import { usageHistoryRoute } from './usage/usage-history.ts'

export interface AccessDeps extends LimitsDeps, MessageDeps, UsageDeps, Omit<GateDeps, 'gate'> {}

export function accessRoutes(deps: AccessDeps): readonly Route[] {
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
    usageRoute(deps),
    usageHistoryRoute(deps),
  ]
}
