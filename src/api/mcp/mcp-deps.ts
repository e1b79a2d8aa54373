import type { Route } from '#route/route.ts'
import type { MeteredDeps } from '../metered-deps.ts'
import type { Page } from '../outside-routes.ts'

export interface McpFacts {
  readonly name: string
  readonly version: string
  /** Decimal US dollars; null without payments. */
  readonly pricePerCallUsd: string | null
}

export interface McpDeps extends MeteredDeps {
  readonly facts: McpFacts
  readonly routes: readonly Route[]
  readonly pages: readonly Page[]
}
