import type { Route } from '#route/route.ts'
import { type BurnDeps, burnRoutes } from './burns/routes.ts'
import { dividendRoutes } from './dividends/routes.ts'
import { graveDigRoutes } from './grave-digs/routes.ts'

/**
 * The endpoints of the datasets. Apart from what the index needs of them, so that its thread loads
 * nothing of HTTP.
 */
export function datasetRoutes(deps: BurnDeps): readonly Route[] {
  return [...burnRoutes(deps), ...dividendRoutes(deps), ...graveDigRoutes(deps)]
}
