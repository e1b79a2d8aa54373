import type { Route } from '#route/route.ts'
import type { Page } from '../outside-routes.ts'
import type { PipelineDeps } from '../pipeline.ts'

export interface McpFacts {
  readonly name: string
  readonly version: string
  /** Decimal US dollars; null without payments. */
  readonly pricePerCallUsd: string | null
}

export interface McpDeps extends PipelineDeps {
  readonly facts: McpFacts
  readonly routes: readonly Route[]
  readonly pages: readonly Page[]
}
