import { ConnectionCut, getMeter, MeteringUnavailable } from '#accounts/metering/meter/meter.ts'
import { HEADER_COMPONENTS } from '#api/openapi.ts'
import { PLAIN_HEADERS, plainPage, toTable } from '#api/pages.ts'
import { sleep, TtlCache } from '#base/async.ts'
import type { Caller, RateLimitState } from '#base/caller.ts'
import { REFUSALS, type Refusal, refuse } from '#base/refusal.ts'
import { escapeMarkup } from '#base/text.ts'
import { DAY_SECONDS, nextMidnight, unixNow } from '#base/time.ts'
import { type Context, oncePerContext } from '#context.ts'
import { StoreError } from '#db/engine.ts'
import {
  type Answer,
  type Call,
  CSV_TYPE,
  JSON_TYPE,
  type Outcome,
  type Outgoing,
  type Route,
  unknownMembers,
  wantsPage,
} from '#route.ts'

interface Written {
  readonly ctx: Context
  readonly route: Route
  readonly call: Pick<Call, 'requestId' | 'headers' | 'query' | 'body'>
}

export type Ending = Outcome | { readonly kind: 'not-modified'; readonly etag: string }

/** Secrets in URLs end up in logs and browser histories. */
export const SECRET = /_[0-9a-f]{8}_[0-9a-f]{32}$/i

/** Answers change with every block; reuse one for about a block time. */
const CACHED = 'private, max-age=2'

/** Throws when a body cannot be serialized. */
export function toWire(asked: Written, ending: Ending): Outgoing {
  const outgoing = writeEnding(asked, ending)
  const ignored = ignoredParameters(asked)
  if (ignored !== '') outgoing.headers['X-Ignored-Parameters'] = ignored
  return outgoing
}

function writeEnding(asked: Written, ending: Ending): Outgoing {
  if (ending.kind === 'answer') return answerWire(asked, ending)
  if (ending.kind === 'refusal') return toProblem(asked.ctx, asked.call, ending)
  if (ending.kind === 'not-modified')
    return { status: 304, headers: { ETag: ending.etag, 'Cache-Control': CACHED }, body: '' }
  if (ending.kind === 'stream') {
    const { contentType, open: stream } = ending
    // `X-Accel-Buffering` makes nginx pass events on at once.
    const headers = { 'Content-Type': contentType, ...NO_STORE, 'X-Accel-Buffering': 'no' }
    return { status: 200, headers, body: '', stream }
  }
  const headers = { 'Content-Type': JSON_TYPE, ...NO_STORE, ...ending.headers }
  return { status: 402, headers, body: JSON.stringify(ending.body) }
}

const NO_STORE = { 'Cache-Control': 'no-store' }

function answerWire({ route }: Written, answer: Answer): Outgoing {
  const { status, body, contentType, etag, headers: own } = answer
  const headers: Outgoing['headers'] = {
    'Content-Type': contentType ?? JSON_TYPE,
    'Cache-Control': route.metered ? CACHED : 'no-store',
    ...own,
  }
  if (etag !== undefined) headers.ETag = etag
  if (contentType === CSV_TYPE) {
    const name = route.path
      .replace(/^\/api\//, '')
      .replaceAll(/[{}]/g, '')
      .replaceAll('/', '-')
    headers['Content-Disposition'] = `attachment; filename="${name}.csv"`
  }
  const sentAsIs = contentType !== undefined && typeof body === 'string'
  return { status, headers, body: sentAsIs ? body : JSON.stringify(body) }
}

/**
 * The contract's headers, the date, and the IETF pair (draft-ietf-httpapi-ratelimit-headers, policy `daily`).
 * `Vary` is needed, because these differ by caller, and some bodies by media type or coding.
 */
export function rateLimitHeaders(rateLimit: RateLimitState, nowMs: number): Outgoing['headers'] {
  const { dailyQuota, remaining, resetUnix, tier } = rateLimit
  // A late answer is dated before the reset, until which its state holds.
  const dateUnix = Math.min(Math.floor(nowMs / 1000), resetUnix - 1)
  return {
    'X-RateLimit-Limit': String(dailyQuota),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(resetUnix),
    'X-RateLimit-Tier': tier,
    'RateLimit-Policy': `"daily";q=${dailyQuota};w=${DAY_SECONDS}`,
    RateLimit: `"daily";r=${remaining};t=${resetUnix - dateUnix}`,
    Vary: 'Authorization, Accept, Accept-Encoding',
    Date: new Date(dateUnix * 1000).toUTCString(),
  }
}

/** Bounds the header whatever the request has: proxies accept about 4 KB of headers. */
const IGNORED_MAX = 10
const IGNORED_LENGTH_MAX = 40

/**
 * Lists query and body members that the route does not know, percent-encoded. Every route accepts `format=json`
 * unless it answers plain text.
 */
function ignoredParameters({ route, call: { query, body } }: Written): string {
  if (query.size === 0 && route.body === undefined) return ''
  const isKnown = (name: string) =>
    route.parameters[name]?.in === 'query' || (name === 'format' && route.plain !== true)
  const names = [...query.keys()].filter((name) => !isKnown(name))
  names.push(...unknownMembers(route.body, body))
  const shown = names.filter((name) => !SECRET.test(name)).slice(0, IGNORED_MAX)
  return shown.map(shortened).join(', ')
}

function shortened(name: string): string {
  const encoded = encodeURIComponent(name.slice(0, IGNORED_LENGTH_MAX).toWellFormed())
  // Does not cut a percent-escape in two.
  return encoded.slice(0, IGNORED_LENGTH_MAX).replace(/%[0-9A-F]?$/, '')
}

/** Docs and health must answer even while the store hangs. */
const RATE_LIMIT_TIMEOUT_MS = 500

/** Cached for a second after a refusal, so that a flood of refused calls does not turn into store reads. */
export function rateLimitToShow(
  ctx: Context,
  caller: Caller,
  isLimited: boolean,
): Promise<RateLimitState> {
  if (!isLimited) return readRateLimit(ctx, caller)
  return getRefusedStates(ctx).get(caller.identity, () => readRateLimit(ctx, caller))
}

const getRefusedStates = oncePerContext(
  ({ clock }) => new TtlCache<RateLimitState>({ clock, max: 10_000, ttlMs: 1_000 }),
)

/** Returns the current state, or `nothingLeft` if the store is too slow. */
async function readRateLimit(ctx: Context, caller: Caller): Promise<RateLimitState> {
  const timer = new AbortController()
  const late = sleep(RATE_LIMIT_TIMEOUT_MS, timer.signal)
  const reading = getMeter(ctx).rateLimit(caller)
  const rateLimit = await Promise.race([reading.catch(() => undefined), late])
  timer.abort()
  return rateLimit ?? nothingLeft(ctx, caller)
}

/** Builds the state without the store: tier, limit and reset, with nothing left. */
export function nothingLeft({ clock }: Context, caller: Caller): RateLimitState {
  return {
    tier: caller.tier,
    dailyQuota: caller.dailyQuota,
    requestCount: 0,
    overageCount: 0,
    remaining: 0,
    resetUnix: nextMidnight(unixNow(clock)),
  }
}

/** A bucket regains a token within a second; a store or index rarely recovers within five. */
const RETRY_SECONDS: Readonly<Record<number, number>> = { 429: 1, 503: 5 }

const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

/** Writes an RFC 9457 body with the contract's two extra members; a page for browsers. */
export function toProblem(
  { ecosystem }: Context,
  { requestId, headers: { accept } }: Pick<Call, 'requestId' | 'headers'>,
  refusal: Refusal,
): Outgoing {
  const { status, title } = REFUSALS[refusal.code]
  const body = {
    type: `${ecosystem.service.publicBaseUrl}/problems/${refusal.code}`,
    title,
    status,
    detail: refusal.message,
    error: refusal.code,
    errorMessage: refusal.message,
    requestId,
    errors: refusal.errors,
    ...refusal.members,
  }
  const isPage = wantsPage(accept)
  const retryAfter = refusal.retryAfterSeconds ?? RETRY_SECONDS[status]
  const headers = {
    ...(isPage ? PLAIN_HEADERS : { 'Content-Type': PROBLEM_TYPE }),
    ...NO_STORE,
    ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
    ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
    ...refusal.headers,
  }
  if (!isPage) return { status, headers, body: JSON.stringify(body) }
  const errors = (refusal.errors ?? []).map(({ name, reason }) => [name, reason] as const)
  const content = `<h1>${status} ${escapeMarkup(title)}</h1>
<p>${escapeMarkup(refusal.message)}</p>
${errors.length === 0 ? '' : toTable(errors)}
<p><a href="${escapeMarkup(body.type)}">What this means and what to do</a></p>
<h2>As a program gets it</h2>
<pre>${escapeMarkup(JSON.stringify(body, null, 2))}</pre>`
  return { status, headers, body: plainPage(title, content) }
}

/** While a store is down every request fails, so log only so many. */
const LINES_PER_WINDOW = 20
const WINDOW_MS = 10_000

/** The client is gone, so this answer is never read. */
export const CUT = refuse('invalid_parameter', 'the client closed the connection')

/** Logs a failed request; the first line of a new window reports how many were dropped. */
export function reportFailure(ctx: Context, err: unknown, requestId: string): void {
  const { clock, logger } = ctx
  const window = getLogWindow(ctx)
  const now = clock()
  if (now - window.startMs >= WINDOW_MS) {
    const left = window.lines - LINES_PER_WINDOW
    if (left > 0) logger.warn({ left }, 'request errors over the log limit were not logged')
    window.startMs = now
    window.lines = 0
  }
  window.lines += 1
  if (window.lines <= LINES_PER_WINDOW) logger.error({ err, requestId }, 'a request failed')
}

const getLogWindow = oncePerContext(() => ({ startMs: 0, lines: 0 }))

/** Logs the failure and maps it to a refusal. Anything but a store failure is a bug. */
export function refuseFailure(ctx: Context, error: unknown, requestId: string): Refusal {
  if (error instanceof ConnectionCut) return CUT
  reportFailure(ctx, error, requestId)
  if (error instanceof MeteringUnavailable)
    return refuse('metering_unavailable', 'calls cannot be counted right now; try again soon')
  if (error instanceof StoreError)
    return refuse('data_not_ready', 'the data cannot be read right now; retry later')
  return refuse('internal_error', 'internal error; quote the X-Request-Id to support')
}

const NOT_EXPOSED = ['Access-Control-Allow-Origin', 'Cache-Control', 'Content-Disposition']

/** Headers that scripts of other origins may read. */
const EXPOSED = Object.keys(HEADER_COMPONENTS).filter((name) => !NOT_EXPOSED.includes(name))

/**
 * `*` covers other headers, such as tracing, but never `Authorization`, and old browsers do not know it. Stock x402
 * clients send `Access-Control-Expose-Headers` as a request header.
 */
const ALLOWED = [
  '*',
  'Authorization',
  'Content-Type',
  'If-None-Match',
  'Last-Event-ID',
  'MCP-Protocol-Version',
  'MCP-Session-Id',
  'PAYMENT-SIGNATURE',
  'X-PAYMENT',
  'X-Wallet-Address',
  'X-Wallet-Message',
  'X-Wallet-Signature',
  'Access-Control-Expose-Headers',
]

/** Browsers may cache preflights for a day, because what they allow never shrinks. */
const PREFLIGHT_SECONDS = 86_400

/** Any origin may read, but without credentials, so no visitor's cookie can be abused (Fetch standard, CORS). */
export const CONSTANT_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': EXPOSED.join(', '),
  'X-Content-Type-Options': 'nosniff',
}

/** `allow` is the methods of the path. */
export function preflightHeaders(allow: string): Outgoing['headers'] {
  return {
    Allow: allow,
    'Access-Control-Allow-Methods': allow,
    'Access-Control-Allow-Headers': ALLOWED.join(', '),
    'Access-Control-Max-Age': String(PREFLIGHT_SECONDS),
    ...NO_STORE,
  }
}
