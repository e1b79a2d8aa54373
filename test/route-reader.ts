import { isRefusal, type Refusal } from '#base/refusal.ts'
import type { Clock } from '#base/time.ts'
import { getAnswerCache } from '#data/data-route.ts'
import { supplyRoutes } from '#data/stats/stats.ts'
import type { Engine } from '#db/engine.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { dataRoutes } from '#main/routes.ts'
import type { Call, Outcome, Route } from '#route.ts'
import type { ReadBody } from '#test/recompute/compare-figures.ts'
import { testCall } from './test-call.ts'
import { testContext } from './test-context.ts'

/** The data endpoints over a register, without a server, and the documents of the supply. */
export function dataRoutesOf(input: {
  readonly register: Engine
  readonly ecosystem: Ecosystem
  readonly clock?: Clock
}): readonly Route[] {
  const ctx = testContext(input)
  return [...dataRoutes(ctx), ...supplyRoutes(ctx)].map((route) => ({
    ...route,
    prepare(raw) {
      // A test sees what it has just written.
      getAnswerCache(ctx).forgetState()
      return route.prepare(raw)
    },
  }))
}

/** Answers a GET of a path with its query as the route does, headers and metering aside. */
export async function callRoute(
  routes: readonly Route[],
  target: string,
  headers: Call['headers'] = {},
): Promise<Outcome> {
  const url = new URL(target, 'http://local')
  const route = findRoute(routes, url.pathname)
  if (route === undefined) throw new Error(`no route for ${target}`)
  const query = new Map<string, string[]>()
  for (const [name, value] of url.searchParams) query.set(name, [...(query.get(name) ?? []), value])
  const prepared = route.prepare({ query, path: pathValues(route, url.pathname), body: undefined })
  if (isRefusal(prepared)) return prepared
  const wrong = await prepared.check({ headers })
  if (wrong !== undefined) return wrong
  return prepared.run(testCall({ target, headers }), {
    kind: 'anonymous',
    identity: 'ip:127.0.0.1',
    bucket: '127.0.0.1',
    tier: 'anonymous',
    dailyQuota: 500,
  })
}

/** The body of a good answer; throws on a refusal. */
export async function readRoute(
  routes: readonly Route[],
  target: string,
  headers: Call['headers'] = {},
): Promise<ReadBody> {
  const outcome = await callRoute(routes, target, headers)
  if (outcome.kind !== 'answer') throw new Error(`${target}: ${JSON.stringify(outcome)}`)
  const { body } = outcome
  return (typeof body === 'string' ? JSON.parse(body) : body) as ReadBody
}

/** The refusal of a request; throws on a good answer. */
export async function refusalOf(routes: readonly Route[], target: string): Promise<Refusal> {
  const outcome = await callRoute(routes, target)
  if (!isRefusal(outcome)) throw new Error(`${target} was answered`)
  return outcome
}

function findRoute(routes: readonly Route[], path: string): Route | undefined {
  return (
    routes.find((each) => each.path === path) ?? routes.find((each) => pathPattern(each).test(path))
  )
}

function pathPattern({ path }: Route): RegExp {
  return new RegExp(`^${path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
}

function pathValues(route: Route, path: string): Readonly<Record<string, string>> {
  return pathPattern(route).exec(path)?.groups ?? {}
}
