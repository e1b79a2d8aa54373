import type { Route } from '#http/route.ts'
import type { AccessDeps } from './access-deps.ts'
import { listRoute } from './keys/list-keys.ts'
import { moveBalanceRoute, revokeRoute, rotateRoute } from './keys/manage-keys.ts'
import { messageRoute } from './keys/message-route.ts'
import { mintRoute } from './keys/mint.ts'
import { reportLeakRoute } from './keys/report-leak.ts'
import { usageRoute } from './usage/usage.ts'
import { usageHistoryRoute } from './usage/usage-history.ts'

/** All unmetered. */
export function accessRoutes(deps: AccessDeps): readonly Route[] {
  const { gate } = deps
  return [
    ...(gate === null ? [] : [mintRoute({ ...deps, gate })]),
    listRoute(deps),
    messageRoute(deps),
    revokeRoute(deps),
    rotateRoute(deps),
    moveBalanceRoute(deps),
    reportLeakRoute(deps),
    usageRoute(deps),
    usageHistoryRoute(deps),
  ]
}
