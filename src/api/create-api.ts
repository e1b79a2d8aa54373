import type { ConnectionLimits } from '#api/http/connections.ts'
import type { Answered, HttpEndpoint } from '#api/http/exchange.ts'
import { createServer, type HttpServer } from '#api/http/server.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { Route } from '#route/route.ts'
import { CallLimiter } from './call-limiter.ts'
import { CONSTANT_HEADERS } from './constant-headers.ts'
import { answerMcp } from './mcp/answer-mcp.ts'
import type { McpFacts } from './mcp/mcp-deps.ts'
import { answerPage, deny, type Page, preflight } from './outside-routes.ts'
import { type PipelineDeps, routeEndpoint } from './pipeline.ts'

export interface ApiDeps extends Omit<PipelineDeps, 'limiter'> {
  readonly routes: readonly Route[]
  readonly pages: readonly Page[]
  /** Routes whose parts this service lacks: refused and undocumented. */
  readonly unconfigured?: readonly UnconfiguredRoute[]
  /** Whether the peer is a trusted proxy, whose connections carry many clients. */
  isProxy?(socketAddress: string): boolean
  readonly connectionLimits?: Partial<ConnectionLimits>
  readonly streamUnreadMs?: number
  readonly mcp?: McpFacts
  newRequestId(): string
  observe?(path: string | undefined, status: number, durationMs: number): void
  record?(answered: Answered): void
}

export interface UnconfiguredRoute {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly refusal: Refusal
}

export function createApi(given: ApiDeps): HttpServer {
  const deps = { ...given, limiter: new CallLimiter() }
  return createServer({
    endpoints: [
      ...deps.routes.map((route) => routeEndpoint(deps, route)),
      ...deps.pages.map((page) => pageEndpoint(deps, page)),
      ...(deps.unconfigured ?? []).map((route) => unconfiguredEndpoint(deps, route)),
      ...(deps.mcp === undefined ? [] : [mcpEndpoint(deps, deps.mcp)]),
    ],
    constantHeaders: CONSTANT_HEADERS,
    deny: (incoming, refusal, headers) => deny(deps, incoming, { refusal, headers }),
    preflight: (incoming, allow) => preflight(deps, incoming, allow),
    socketOwner: (address) =>
      deps.isProxy?.(address) === true ? undefined : deps.addressBucket(address, {}),
    newRequestId: deps.newRequestId,
    report: deps.report,
    ...(deps.connectionLimits === undefined ? {} : { connectionLimits: deps.connectionLimits }),
    ...(deps.streamUnreadMs === undefined ? {} : { streamUnreadMs: deps.streamUnreadMs }),
    ...(deps.observe === undefined ? {} : { observe: deps.observe }),
    ...(deps.record === undefined ? {} : { record: deps.record }),
  })
}

function pageEndpoint(deps: PipelineDeps, page: Page): HttpEndpoint {
  return { method: 'GET', path: page.path, respond: (incoming) => answerPage(deps, page, incoming) }
}

function mcpEndpoint(
  deps: PipelineDeps & Pick<ApiDeps, 'routes' | 'pages'>,
  facts: McpFacts,
): HttpEndpoint {
  const path = '/mcp'
  const page: Page = {
    path,
    read: (incoming) => answerMcp({ ...deps, facts }, incoming),
  }
  return { method: 'POST', path, respond: (incoming) => answerPage(deps, page, incoming) }
}

function unconfiguredEndpoint(
  deps: PipelineDeps,
  { method, path, refusal }: UnconfiguredRoute,
): HttpEndpoint {
  const respond: HttpEndpoint['respond'] = (incoming) =>
    deny(deps, incoming, { refusal, headers: [] })
  return { method, path, respond }
}
