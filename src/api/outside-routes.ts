import type { Call, Outgoing } from '#api/http/call.ts'
import { toProblem } from '#api/http/problem.ts'
import type { Caller } from '#domain/caller.ts'
import { isRefusal, type Refusal } from '#domain/refusal.ts'
import { preflightHeaders } from './constant-headers.ts'
import { refuseFailure } from './failure.ts'
import type { MeteredDeps } from './metered-deps.ts'
import { rateLimitOf, rememberedRateLimit } from './rate-limit-state.ts'
import { stampRateLimit } from './wire.ts'

/** An unmetered document: docs, OpenAPI, error pages. */
export interface Page {
  /** OpenAPI form. */
  readonly path: string
  read(call: Call): Promise<Outgoing | Refusal>
}

/** Works while the store is down. */
export async function answerPage(deps: MeteredDeps, page: Page, call: Call): Promise<Outgoing> {
  return turnedAway(deps, call) ?? (await stamp(deps, call, await readPage(deps, page, call)))
}

/** Refuses unknown paths and the like; the abuse guard bounds floods of them. */
export async function deny(deps: MeteredDeps, call: Call, refusal: Refusal): Promise<Outgoing> {
  return turnedAway(deps, call) ?? (await stamp(deps, call, toProblem(deps.ctx, call, refusal)))
}

/** The static answer to OPTIONS on a known path (Fetch standard, CORS preflight). */
export async function preflight(deps: MeteredDeps, call: Call, allow: string): Promise<Outgoing> {
  return (
    turnedAway(deps, call) ??
    (await stamp(deps, call, { status: 204, headers: preflightHeaders(allow), body: '' }))
  )
}

async function readPage(deps: MeteredDeps, page: Page, call: Call): Promise<Outgoing> {
  const outcome = await page
    .read(call)
    .catch((error: unknown) => refuseFailure(deps.ctx, error, call.requestId))
  return isRefusal(outcome) ? toProblem(deps.ctx, call, outcome) : outcome
}

/** 429 without a key look-up or store read; the state comes from the cache by address. */
function turnedAway(deps: MeteredDeps, call: Call): Outgoing | undefined {
  const caller = deps.anonymous(call.addressBucket)
  const limited = deps.guard(caller, call.addressBucket, undefined)
  if (limited === undefined) return undefined
  const outgoing = toProblem(deps.ctx, call, limited)
  stampRateLimit(outgoing.headers, rememberedRateLimit(deps.ctx, caller), deps.ctx.clock())
  return outgoing
}

async function stamp(deps: MeteredDeps, call: Call, outgoing: Outgoing): Promise<Outgoing> {
  const caller = await callerOf(deps, call)
  const rateLimit = await rateLimitOf(deps, caller)
  stampRateLimit(outgoing.headers, rateLimit, deps.ctx.clock())
  return outgoing
}

/** A bad key does not withhold a page; the headers are then those of the address. */
async function callerOf(deps: MeteredDeps, call: Call): Promise<Caller> {
  const bucket = call.addressBucket
  const anonymous = deps.anonymous(bucket)
  if (call.headers.authorization === undefined) return anonymous
  const caller = await deps.identify(call.headers, bucket).catch(() => anonymous)
  return isRefusal(caller) ? anonymous : caller
}
