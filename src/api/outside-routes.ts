import { guardCall } from '#accounts/metering/abuse-guard.ts'
import { anonymousCaller, identifyCaller } from '#accounts/metering/callers.ts'
import { refuseFailure, toProblem } from '#api/problem.ts'
import { preflightHeaders, readRateLimit, rememberedRateLimit, stampRateLimit } from '#api/wire.ts'
import type { Caller } from '#base/caller.ts'
import { isRefusal, type Refusal } from '#base/refusal.ts'
import type { Context } from '#context.ts'
import type { Call, Outgoing } from '#route.ts'

/** An unmetered document: docs, OpenAPI, error pages. */
export interface Page {
  /** In OpenAPI form. */
  readonly path: string
  read(call: Call): Promise<Outgoing | Refusal>
}

/** Answers even while the store is down. */
export async function answerPage(ctx: Context, page: Page, call: Call): Promise<Outgoing> {
  return turnedAway(ctx, call) ?? (await stamp(ctx, call, await readPage(ctx, page, call)))
}

/** Refuses unknown paths and bad requests; the abuse guard bounds floods of them. */
export async function deny(ctx: Context, call: Call, refusal: Refusal): Promise<Outgoing> {
  return turnedAway(ctx, call) ?? (await stamp(ctx, call, toProblem(ctx, call, refusal)))
}

/** The static answer to OPTIONS on a known path (Fetch standard, CORS preflight). */
export async function preflight(ctx: Context, call: Call, allow: string): Promise<Outgoing> {
  return (
    turnedAway(ctx, call) ??
    (await stamp(ctx, call, { status: 204, headers: preflightHeaders(allow), body: '' }))
  )
}

async function readPage(ctx: Context, page: Page, call: Call): Promise<Outgoing> {
  const outcome = await page
    .read(call)
    .catch((error: unknown) => refuseFailure(ctx, error, call.requestId))
  return isRefusal(outcome) ? toProblem(ctx, call, outcome) : outcome
}

/** Returns a 429 without a key look-up or store read; its state comes from the cache by address. */
function turnedAway(ctx: Context, call: Call): Outgoing | undefined {
  const caller = anonymousCaller(ctx, call.addressBucket)
  const limited = guardCall(ctx, caller, call.addressBucket)
  if (limited === undefined) return undefined
  const outgoing = toProblem(ctx, call, limited)
  stampRateLimit(outgoing.headers, rememberedRateLimit(ctx, caller), ctx.clock())
  return outgoing
}

async function stamp(ctx: Context, call: Call, outgoing: Outgoing): Promise<Outgoing> {
  const caller = await identifyOrAnonymous(ctx, call)
  const rateLimit = await readRateLimit(ctx, caller)
  stampRateLimit(outgoing.headers, rateLimit, ctx.clock())
  return outgoing
}

/** A bad key does not block a page; its headers then show the state of the address. */
async function identifyOrAnonymous(ctx: Context, call: Call): Promise<Caller> {
  const bucket = call.addressBucket
  const anonymous = anonymousCaller(ctx, bucket)
  if (call.headers.authorization === undefined) return anonymous
  const caller = await identifyCaller(ctx, call.headers, bucket).catch(() => anonymous)
  return isRefusal(caller) ? anonymous : caller
}
