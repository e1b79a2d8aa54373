import { refuseSpending } from '#accounts/keys/spending-caps.ts'
import { guardCall } from '#accounts/metering/abuse-guard.ts'
import { anonymousCaller, identifyCaller } from '#accounts/metering/callers.ts'
import { countDecision, getMeter, MeteringUnavailable } from '#accounts/metering/meter/meter.ts'
import type { Page } from '#api/pages.ts'
import {
  CUT,
  type Ending,
  nothingLeft,
  rateLimitHeaders,
  rateLimitToShow,
  refuseFailure,
  SECRET,
  toProblem,
  toWire,
} from '#api/wire.ts'
import type { Caller, RateLimitState } from '#base/caller.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { MINUTE_MS } from '#base/time.ts'
import { type Context, oncePerContext } from '#context.ts'
import { offerCall, pay, rejectUnfitPayment, rejectUsedPayment } from '#payments/x402/pay.ts'
import {
  type Call,
  carriesPayment,
  matchesEtag,
  type OpenStream,
  type Outgoing,
  type Prepared,
  type Route,
} from '#route.ts'

/** One call's state between the steps, with what its answer's headers show. */
interface Way {
  readonly ctx: Context
  readonly route: Route
  readonly call: Call
  /** The client's address until a key is accepted, so that a 401 shows the state of the address. */
  caller: Caller
  prepared?: Prepared
  /** Read when the answer is written, unless known by then. */
  rateLimit?: RateLimitState
  /** What paid for the call. */
  source?: 'quota' | 'prepaid'
  /** The call carries a payment that was credited, but never served. */
  isCredited?: boolean
  /** Headers of a payment that this request settled. */
  paymentHeaders?: Readonly<Record<string, string>>
}

/**
 * Runs a call: identify → parse → guard → 304 → early 402 if exhausted without a payment → work → charge or pay →
 * send. Everything that may fail comes before the charge; afterwards only the answer is written.
 */
export async function metered(ctx: Context, route: Route, call: Call): Promise<Outgoing> {
  const way: Way = { ctx, route, call, caller: anonymousCaller(ctx, call.addressBucket) }
  const outgoing = await answer(way).catch((error: unknown) => {
    if (error instanceof MeteringUnavailable) way.rateLimit = nothingLeft(ctx, way.caller)
    return toWire(way, refuseFailure(ctx, error, call.requestId))
  })
  if (way.source !== undefined) outgoing.headers['X-RateLimit-Source'] = way.source
  const rateLimit =
    way.rateLimit ?? (await rateLimitToShow(ctx, way.caller, outgoing.status === 429))
  Object.assign(outgoing.headers, way.paymentHeaders, rateLimitHeaders(rateLimit, ctx.clock()))
  return outgoing
}

async function answer(way: Way): Promise<Outgoing> {
  const { ctx, route, call } = way
  const identifiedMs = ctx.clock()
  // Refusals before the guard take a token too, so that 401s and 400s are bounded.
  const unfit = (await identify(way)) ?? (await parse(way))
  const refused = guardCall(ctx, way.caller, call.addressBucket, route.guard) ?? unfit
  if (refused !== undefined) return toWire(way, refused)
  if (!route.metered) return work(way)
  const unchanged = await notModified(way)
  if (unchanged !== undefined) return toWire(way, unchanged)
  const release = await getCallLimiter(ctx).acquire(way.caller.bucket)
  if (release === undefined) return toWire(way, FULL)
  try {
    const ending = call.isCut() ? CUT : await refuseExhausted(way)
    if (ending !== undefined) return toWire(way, ending)
    const outgoing = await work(way)
    if (outgoing.status >= 300) return outgoing
    // Larger answers keep their slot until charged, so that a caller has few of them in memory.
    if (outgoing.body.length <= SMALL_BYTES_MAX) release()
    const notCharged = await charge(way, identifiedMs)
    if (notCharged !== undefined) return toWire(way, notCharged)
    const { stream } = outgoing
    return stream === undefined ? outgoing : { ...outgoing, stream: chargeMinutes(way, stream) }
  } finally {
    release()
  }
}

const SMALL_BYTES_MAX = 65_536

async function identify(way: Way): Promise<Refusal | undefined> {
  const { ctx, route, call } = way
  const { authorization, 'x-api-key': misplaced } = call.headers
  if (route.open === true || (authorization ?? misplaced) === undefined) return undefined
  const caller = await identifyCaller(ctx, call.headers, call.addressBucket)
  if (isRefusal(caller)) return caller
  way.caller = caller
  return undefined
}

async function parse(way: Way): Promise<Refusal | undefined> {
  const { route, call } = way
  for (const [name, values] of call.query)
    if ([name, ...values].some((text) => SECRET.test(text)))
      return refuse('invalid_parameter', 'send the key in the Authorization header, not in the URL')
  const { query, path, body = {} } = call
  const prepared = route.prepare({ query, path, body })
  if (isRefusal(prepared)) return prepared
  way.prepared = prepared
  return prepared.check(call)
}

async function notModified(way: Way): Promise<Ending | undefined> {
  const header = way.call.headers['if-none-match']
  if (header === undefined) return undefined
  const etag = await way.prepared?.etag(way.call)
  return etag !== undefined && matchesEtag(header, etag)
    ? { kind: 'not-modified', etag }
    : undefined
}

/** Skips the work of a call that would be refused and carries no acceptable payment. */
async function refuseExhausted(way: Way): Promise<Ending | undefined> {
  const { ctx, call, caller } = way
  const carried = carriesPayment(call.headers) ? await rejectUsedPayment(ctx, call) : undefined
  if (typeof carried === 'object') return carried
  way.isCredited = carried === 'credited'
  if (carried === undefined && !getMeter(ctx).wasRefused(caller)) return undefined
  const { refused, ...rateLimit } = await getMeter(ctx).rateLimit(caller)
  if (refused === undefined) return undefined
  way.rateLimit = { ...rateLimit, remaining: 0 }
  countDecision(ctx, refused)
  if (refused.kind === 'limited') return refuseSpending(refused.cap)
  if (carried === undefined) return offerCall(ctx, caller, call)
  return carried === 'carried' ? rejectUnfitPayment(ctx, caller, call) : undefined
}

/** Also serializes the answer, since a call whose answer cannot be written must not be charged. */
async function work(way: Way): Promise<Outgoing> {
  const { prepared, call, caller } = way
  if (prepared === undefined) throw new Error('a route was run before it was parsed')
  const outcome = await prepared.run(call, caller)
  if (outcome.kind === 'answer' && outcome.rateLimit !== undefined)
    way.rateLimit = outcome.rateLimit
  return toWire(way, outcome)
}

/** A key may be revoked or restricted while its call waits or works. */
const IDENTITY_AGE_MAX_MS = 500

/** Charges the call, or settles its payment and charges it then. Returns undefined once it is charged. */
async function charge(way: Way, identifiedMs: number): Promise<Ending | undefined> {
  const { ctx, call } = way
  let mustPay = way.isCredited === true
  let isPaid = false
  for (;;) {
    if (call.isCut()) return CUT
    const isOld = Math.abs(ctx.clock() - identifiedMs) > IDENTITY_AGE_MAX_MS
    const refused = isOld ? await identify(way) : undefined
    if (refused !== undefined) return refused
    const paid = mustPay ? await pay(ctx, way.caller, call) : undefined
    if (paid?.kind === 'refusal' || paid?.kind === 'payment-required') return paid
    if (paid !== undefined) way.paymentHeaders = paid.headers
    if (paid?.kind === 'balance') {
      mustPay = false
      isPaid = true
      continue
    }
    const admission = paid?.admission ?? (await getMeter(ctx).admit(way.caller, () => call.isCut()))
    way.rateLimit = admission.rateLimit
    countDecision(ctx, admission)
    if (admission.kind === 'admitted') {
      way.source = admission.source
      return undefined
    }
    way.rateLimit = { ...admission.rateLimit, remaining: 0 }
    if (admission.kind === 'limited') return refuseSpending(admission.cap)
    // A credit that only repays a debt leaves nothing to spend; do not settle its payment twice.
    if (isPaid || mustPay) return offerCall(ctx, way.caller, call)
    mustPay = true
  }
}

/** Answers requests that match no route, even while the store is down: documents, refusals, preflights. */
export async function unmetered(ctx: Context, call: Call, read: Page['read']): Promise<Outgoing> {
  const address = anonymousCaller(ctx, call.addressBucket)
  const limited = guardCall(ctx, address, call.addressBucket)
  const outcome =
    limited ?? (await read(call).catch((error) => refuseFailure(ctx, error, call.requestId)))
  const outgoing = isRefusal(outcome) ? toProblem(ctx, call, outcome) : outcome
  // Without a key look-up, so that a flood is cheap.
  const caller = limited ? address : await identifyOrAnonymous(ctx, call, address)
  const rateLimit = await rateLimitToShow(ctx, caller, limited !== undefined)
  const headers = { ...outgoing.headers, ...rateLimitHeaders(rateLimit, ctx.clock()) }
  return { ...outgoing, headers }
}

/** A bad key does not block a document; its headers then show the state of the address. */
async function identifyOrAnonymous(ctx: Context, call: Call, address: Caller): Promise<Caller> {
  if (call.headers.authorization === undefined) return address
  const caller = await identifyCaller(ctx, call.headers, call.addressBucket).catch(() => address)
  return isRefusal(caller) ? address : caller
}

interface StreamEnd {
  readonly reason: string
  readonly detail: string
  readonly offer?: unknown
}

/** A stream ends within about a second once its key is revoked, expired or capped. */
const IDENTIFY_EVERY_MS = 500

/** Reconnect delays sent to clients. */
const RETRY_MS = { soon: 1_000, later: 10_000 }

/**
 * Charges each started minute as it is sent; the first was charged on opening. The last event says why the stream
 * ends. The source must yield about once a second, even if only empty text.
 */
function chargeMinutes(way: Way, open: OpenStream): OpenStream {
  const { ctx, call } = way
  return async function* stream(signal) {
    let minuteMs = ctx.clock()
    let identifiedMs = ctx.clock()
    try {
      for await (const chunk of open(signal)) {
        if (Math.abs(ctx.clock() - identifiedMs) >= IDENTIFY_EVERY_MS) {
          identifiedMs = ctx.clock()
          const refused = await identify(way)
          if (refused !== undefined) return yield endText(toStreamEnd(refused), RETRY_MS.later)
        }
        const elapsedMs = Math.abs(ctx.clock() - minuteMs)
        if (elapsedMs >= MINUTE_MS) {
          if (signal.aborted) return
          minuteMs = elapsedMs < 2 * MINUTE_MS ? minuteMs + MINUTE_MS : ctx.clock()
          const end = await chargeMinute(way)
          if (end !== undefined) return yield endText(end, RETRY_MS.later)
        }
        yield chunk
      }
      const detail = 'the server is stopping; reconnect with Last-Event-ID'
      yield endText({ reason: 'server_stopping', detail }, RETRY_MS.soon)
    } catch (error) {
      if (signal.aborted) return
      const end = toStreamEnd(refuseFailure(ctx, error, call.requestId))
      yield endText(end, RETRY_MS.later)
    }
  }
}

async function chargeMinute(way: Way): Promise<StreamEnd | undefined> {
  const { ctx, call } = way
  const refused = await identify(way)
  if (refused !== undefined) return toStreamEnd(refused)
  const admission = await getMeter(ctx).admit(way.caller)
  countDecision(ctx, admission)
  if (admission.kind === 'admitted') return undefined
  if (admission.kind === 'limited') return toStreamEnd(refuseSpending(admission.cap))
  const ending = await offerCall(ctx, way.caller, call)
  const reason = 'quota_exhausted'
  if (isRefusal(ending)) return { reason, detail: ending.message }
  return { reason, detail: 'no free call and no balance is left', offer: ending.body }
}

function toStreamEnd({ code, message }: Refusal): StreamEnd {
  return { reason: code, detail: message }
}

function endText(end: StreamEnd, retryMs: number): string {
  return `retry: ${retryMs}\nevent: end\ndata: ${JSON.stringify(end)}\n\n`
}

/** A page with thirty parallel calls does not notice it, and a thousand heavy calls leave room for others. */
const AT_ONCE_MAX = 4

/** A load test has a thousand connections from one address; a longer queue would only fill memory. */
const WAITING_MAX = 1_000

/** Limits parallel calls per bucket, so that each sees what the one before it cost. */
export class CallLimiter {
  readonly #callers = new Map<string, { working: number; readonly line: (() => void)[] }>()

  /** Resolves once a slot is free, to a function that frees it again; to undefined if the queue is full. */
  async acquire(bucket: string): Promise<(() => void) | undefined> {
    const own = this.#callers.get(bucket) ?? { working: 0, line: [] }
    this.#callers.set(bucket, own)
    if (own.working < AT_ONCE_MAX) own.working += 1
    else if (own.line.length >= WAITING_MAX) return undefined
    else await new Promise<void>((resolve) => own.line.push(resolve))
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      // Hands the slot to the call that has waited longest.
      const next = own.line.shift()
      if (next !== undefined) return next()
      own.working -= 1
      if (own.working === 0) this.#callers.delete(bucket)
    }
  }
}

const getCallLimiter = oncePerContext(() => new CallLimiter())

const FULL = refuse('rate_limited', 'too many calls wait at once; send fewer in parallel', {
  retryAfterSeconds: 1,
})
