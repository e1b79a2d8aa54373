import { ConnectionCut, MeteringUnavailable } from '#accounts/metering/meter/meter.ts'
import { REFUSALS, type Refusal, refuse } from '#base/refusal.ts'
import { escapeMarkup } from '#base/text.ts'
import { type Context, oncePerContext } from '#context.ts'
import { StoreError } from '#db/engine.ts'
import { type Call, type Outgoing, wantsPage } from '#route.ts'
import { HTML_TYPE, PLAIN_POLICY, plainPage, toTable } from './plain-page.ts'

/** A bucket regains a token within this time. */
const RATE_LIMITED_SECONDS = 1

/** A store or index rarely recovers sooner. */
const UNAVAILABLE_SECONDS = 5

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
    ...(refusal.errors === undefined ? {} : { errors: refusal.errors }),
    ...refusal.members,
  }
  const isPage = wantsPage(accept)
  const headers = ['Content-Type', isPage ? HTML_TYPE : PROBLEM_TYPE, 'Cache-Control', 'no-store']
  if (isPage) headers.push('Content-Security-Policy', PLAIN_POLICY)
  if (status === 401) headers.push('WWW-Authenticate', 'Bearer')
  const retryAfter = refusal.retryAfterSeconds ?? defaultRetryAfter(status)
  if (retryAfter !== undefined) headers.push('Retry-After', String(retryAfter))
  for (const [name, value] of Object.entries(refusal.headers ?? {})) headers.push(name, value)
  return { status, headers, body: isPage ? toProblemPage(body) : JSON.stringify(body) }
}

function toProblemPage(body: {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly errors?: Refusal['errors']
}): string {
  const { type, title, status, detail, errors = [] } = body
  const content = `<h1>${status} ${escapeMarkup(title)}</h1>
<p>${escapeMarkup(detail)}</p>
${errors.length === 0 ? '' : toTable(errors.map(({ name, reason }) => [name, reason]))}
<p><a href="${escapeMarkup(type)}">What this means and what to do</a></p>
<h2>As a program gets it</h2>
<pre>${escapeMarkup(JSON.stringify(body, null, 2))}</pre>`
  return plainPage(title, content)
}

function defaultRetryAfter(status: number): number | undefined {
  if (status === 429) return RATE_LIMITED_SECONDS
  return status === 503 ? UNAVAILABLE_SECONDS : undefined
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
