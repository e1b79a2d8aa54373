import type { Context } from '#context.ts'
import type { Route } from '#route.ts'
import { burnEndpoints } from './burns/endpoints.ts'
import { dividendEndpoints } from './dividends/endpoints.ts'
import { graveDigEndpoints } from './grave-digs/endpoints.ts'

/** Separate from the kinds, so that the index thread does not load HTTP. */
const endpoints = [burnEndpoints, dividendEndpoints, graveDigEndpoints]

export const kindLists = endpoints.map(({ list }) => list)

export function kindRoutes(ctx: Context): readonly Route[] {
  return endpoints.flatMap(({ routes }) => routes(ctx))
}
