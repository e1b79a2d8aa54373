import type { Incoming, Outgoing } from '#api/http/exchange.ts'
import { toProblem } from '#api/http/problem.ts'
import type { Caller } from '#domain/caller.ts'
import { isRefusal, type Refusal } from '#domain/refusal.ts'
import { preflightHeaders } from './constant-headers.ts'
import { reportFailure } from './failure.ts'
import type { PipelineDeps } from './pipeline.ts'
import { rateLimitOf, rememberedRateLimit } from './rate-limit-state.ts'
import { stampRateLimit } from './wire.ts'

/** An unmetered document: docs, OpenAPI, error pages. */
export interface Page {
  /** OpenAPI form. */
  readonly path: string
  read(incoming: Incoming): Promise<Outgoing | Refusal>
}

/** Works while the store is down. */
export async function answerPage(
  deps: PipelineDeps,
  page: Page,
  incoming: Incoming,
): Promise<Outgoing> {
  return (
    turnedAway(deps, incoming) ??
    (await stamp(deps, incoming, await readPage(deps, page, incoming)))
  )
}

/** Refuses unknown paths and the like; the abuse guard bounds floods of them. */
export async function deny(
  deps: PipelineDeps,
  incoming: Incoming,
  input: { readonly refusal: Refusal; readonly headers: readonly string[] },
): Promise<Outgoing> {
  const limited = turnedAway(deps, incoming)
  const outgoing = limited ?? problem(deps, incoming, input.refusal)
  outgoing.headers.push(...input.headers)
  return limited ?? stamp(deps, incoming, outgoing)
}

/** The static answer to OPTIONS on a known path (Fetch standard, CORS preflight). */
export async function preflight(
  deps: PipelineDeps,
  incoming: Incoming,
  allow: string,
): Promise<Outgoing> {
  return (
    turnedAway(deps, incoming) ??
    (await stamp(deps, incoming, { status: 204, headers: preflightHeaders(allow), body: '' }))
  )
}

async function readPage(deps: PipelineDeps, page: Page, incoming: Incoming): Promise<Outgoing> {
  const outcome = await page
    .read(incoming)
    .catch((error: unknown) => reportFailure(deps, error, incoming.requestId))
  return isRefusal(outcome) ? problem(deps, incoming, outcome) : outcome
}

/** 429 without a key look-up or store read; the state comes from the cache by address. */
function turnedAway(deps: PipelineDeps, incoming: Incoming): Outgoing | undefined {
  const bucket = deps.addressBucket(incoming.socketAddress, incoming.headers)
  const limited = deps.guard(bucket, undefined)
  if (limited === undefined) return undefined
  const outgoing = problem(deps, incoming, limited)
  stampRateLimit(outgoing.headers, rememberedRateLimit(deps, deps.anonymous(bucket)), deps.clock())
  return outgoing
}

function problem(
  deps: PipelineDeps,
  { requestId, headers: { accept } }: Incoming,
  refusal: Refusal,
): Outgoing {
  return toProblem(deps, { refusal, requestId, accept })
}

async function stamp(
  deps: PipelineDeps,
  incoming: Incoming,
  outgoing: Outgoing,
): Promise<Outgoing> {
  const caller = await callerOf(deps, incoming)
  const rateLimit = await rateLimitOf(deps, caller)
  stampRateLimit(outgoing.headers, rateLimit, deps.clock())
  return outgoing
}

/** A bad key does not withhold a page; the headers are then those of the address. */
async function callerOf(deps: PipelineDeps, incoming: Incoming): Promise<Caller> {
  const bucket = deps.addressBucket(incoming.socketAddress, incoming.headers)
  const anonymous = deps.anonymous(bucket)
  if (incoming.headers.authorization === undefined) return anonymous
  const caller = await deps.identify(incoming.headers, bucket).catch(() => anonymous)
  return isRefusal(caller) ? anonymous : caller
}
