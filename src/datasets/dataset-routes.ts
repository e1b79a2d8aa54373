import type { Route } from '#route/route.ts'
import { type BurnDeps, burnRoutes } from './burns/routes.ts'
import { dividendRoutes } from './dividends/routes.ts'
import { graveDigRoutes } from './grave-digs/routes.ts'

/** Separate from the datasets, so that the index thread does not load HTTP. */
export function datasetRoutes(deps: BurnDeps): readonly Route[] {
  return [...burnRoutes(deps), ...dividendRoutes(deps), ...graveDigRoutes(deps)]
}
