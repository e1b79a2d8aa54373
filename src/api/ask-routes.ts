import { isRefusal, type Refusal } from '#base/refusal.ts'
import type { Route } from '#route.ts'

/** Calls a route of this server without charge, for documents that are the same for everyone. */
export type Ask = (
  operationId: string,
  query?: Readonly<Record<string, string>>,
  path?: Readonly<Record<string, string>>,
) => Promise<unknown>

/** Wraps a route's refusal, so that a document built from many answers fails as a whole. */
export class AskRefused extends Error {
  override name = 'AskRefused'
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

/** Charts and figures belong to no caller, and no route used through `Ask` reads it. */
const NOBODY = {
  kind: 'anonymous',
  identity: 'ip:none',
  bucket: 'none',
  tier: 'anonymous',
  dailyQuota: 0,
} as const

/** The returned function throws AskRefused, and what the route throws. */
export function askRoutes(routes: readonly Route[]): Ask {
  const byName = new Map(routes.map((route) => [route.operationId, route]))
  return async (operationId, query = {}, path = {}) => {
    const route = byName.get(operationId)
    if (route === undefined) throw new Error(`no route ${operationId}`)
    const given = new Map(Object.entries(query).map(([name, value]) => [name, [value]]))
    const prepared = route.prepare({ query: given, path, body: undefined })
    if (isRefusal(prepared)) throw new AskRefused(prepared)
    const refused = await prepared.check?.({ headers: {} })
    if (refused !== undefined) throw new AskRefused(refused)
    const asked = {
      requestId: '',
      headers: { accept: 'application/json' },
      target: route.path,
      addressBucket: 'none',
      signal: new AbortController().signal,
    }
    const outcome = await prepared.run(asked, NOBODY)
    if (isRefusal(outcome)) throw new AskRefused(outcome)
    if (outcome.kind !== 'answer') throw new Error(`${operationId} asks for a payment`)
    return typeof outcome.body === 'string' ? JSON.parse(outcome.body) : outcome.body
  }
}
