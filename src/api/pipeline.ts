import { refuseSpending } from '#accounts/keys/spending-caps.ts'
import type { Admission, Meter } from '#accounts/metering/meter/admission.ts'
import { matchesEtag } from '#api/http/etag.ts'
import type { HttpEndpoint, Incoming, Outgoing } from '#api/http/exchange.ts'
import type { Caller, RateLimitState } from '#domain/caller.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import type { PaymentRequired, Prepared, RequestFacts, Route } from '#route/route.ts'
import type { AdmissionSource } from './call-counts.ts'
import { acquireSlot, type CallLimiter, releaseSlot } from './call-limiter.ts'
import type { CallPayment, ProvenPayment, UnsettledPayment } from './call-payment.ts'
import { chargeMinutes } from './charge-minutes.ts'
import { CUT, type FailureDeps, failure, reportFailure } from './failure.ts'
import { type RateLimitDeps, rateLimitAfterRefusal, rateLimitOf } from './rate-limit-state.ts'
import {
  type Ending,
  etagAt,
  pushHeaders,
  SECRET,
  stampRateLimit,
  toWire,
  type WireRequest,
} from './wire.ts'

export interface PipelineDeps extends RateLimitDeps, FailureDeps {
  readonly meter: Meter
  /** Begins absolute URLs in problem bodies; has no trailing slash. */
  readonly publicBaseUrl: string
  /** The counted address: one IPv4 or one IPv6 /64. */
  addressBucket(socketAddress: string, headers: Incoming['headers']): string
  /** The caller of the Authorization header, or `invalid_api_key`. */
  identify(headers: Incoming['headers'], addressBucket: string): Promise<Caller | Refusal>
  anonymous(addressBucket: string): Caller
  /** Takes a token of the address; `rate_limited` when none is left. */
  guard(addressBucket: string, kind: Route['guard']): Refusal | undefined
  /** The payment offer, or a refusal where payments are off. */
  paymentRequired(
    caller: Caller,
    facts: RequestFacts,
  ): PaymentRequired | Refusal | Promise<PaymentRequired | Refusal>
  /** Bounds the calls of one caller that work at once. */
  readonly limiter: CallLimiter
  /**
   * Whether a payment came with the request; refuses a used one, also where the call would be free.
   * `credited`: it still serves a call, this one if it is for the caller's balance.
   */
  rejectUsedPayment?(facts: RequestFacts): Promise<Refusal | 'carried' | 'credited' | undefined>
  /** Settles a payment that came with the request; undefined when none came. */
  settle?(caller: Caller, facts: RequestFacts): Promise<CallPayment | undefined>
  observeAdmission?(source: AdmissionSource): void
}

class Exchange implements RequestFacts, WireRequest {
  readonly route: Route
  readonly incoming: Incoming
  readonly addressBucket: string
  /** The address until a key is accepted, so that a 401 shows the state of the address. */
  caller: Caller
  prepared: Prepared | undefined
  /** Time of the key look-up. */
  identifiedMs = 0
  guarded = false
  /** Bucket whose slot it holds. */
  slotOf: string | undefined
  /** What the work gave, until the call is admitted. */
  outgoing: Outgoing | undefined
  /** Proven, but not credited yet. */
  payment: ProvenPayment | undefined
  admission: Extract<Admission, { readonly kind: 'admitted' }> | undefined
  rateLimit: RateLimitState | undefined
  /** Response headers of a payment that this request settled. */
  settledHeaders: Readonly<Record<string, string>> | undefined

  constructor(route: Route, incoming: Incoming, addressBucket: string, caller: Caller) {
    this.route = route
    this.incoming = incoming
    this.addressBucket = addressBucket
    this.caller = caller
  }

  get requestId(): string {
    return this.incoming.requestId
  }

  get headers(): Incoming['headers'] {
    return this.incoming.headers
  }

  get signal(): AbortSignal {
    return this.incoming.signal
  }

  /** Rebuilt from parsed values, so that no raw input reaches an answer. */
  get target(): string {
    const { path, query } = this.incoming
    const plain = this.route.path.replace(/\{([^}]+)\}/g, (_, name: string) =>
      encodeURIComponent(path[name] ?? ''),
    )
    const pairs = [...query].flatMap(([name, values]) => values.map((value) => [name, value]))
    return pairs.length === 0 ? plain : `${plain}?${new URLSearchParams(pairs)}`
  }
}

interface Step {
  readonly name: string
  /** An ending stops the pipeline; undefined runs the next step. */
  run(deps: PipelineDeps, exchange: Exchange): Ending | undefined | Promise<Ending | undefined>
}

/**
 * Steps of a matched route, after the server's checks of path, method, size and type. What may fail
 * stands before `admit`; after it only the answer is written.
 */
export const STEPS: readonly Step[] = [
  { name: 'identify', run: identify },
  { name: 'parse', run: parse },
  { name: 'guard', run: guard },
  { name: 'conditional', run: notModified },
  { name: 'slot', run: acquireSlot },
  { name: 'ask again', run: askAgain },
  { name: 'work', run: work },
  { name: 'admit', run: admit },
]

/** Rejects only when writing the refusal itself fails. */
export function routeEndpoint(deps: PipelineDeps, route: Route): HttpEndpoint {
  const { method, path } = route
  return { method, path, respond: (incoming) => answer(deps, route, incoming) }
}

async function answer(deps: PipelineDeps, route: Route, incoming: Incoming): Promise<Outgoing> {
  const bucket = deps.addressBucket(incoming.socketAddress, incoming.headers)
  const exchange = new Exchange(route, incoming, bucket, deps.anonymous(bucket))
  const ending = guardLate(deps, exchange, await runSteps(deps, exchange))
  releaseSlot(deps, exchange)
  if (exchange.payment !== undefined) await creditAlone(deps, exchange, exchange.payment)
  const outgoing = ending === undefined ? outgoingOf(exchange) : toWire(deps, exchange, ending)
  const charged =
    outgoing.stream === undefined ? outgoing : await chargedByMinute(deps, exchange, outgoing)
  return stamp(deps, exchange, charged, await rateLimitToShow(deps, exchange, charged))
}

function outgoingOf({ outgoing }: Exchange): Outgoing {
  if (outgoing === undefined) throw new Error('the last steps neither refused nor answered')
  return outgoing
}

/** The work failed, but the deposit stands. The job that finishes payments credits it otherwise. */
async function creditAlone(
  deps: PipelineDeps,
  exchange: Exchange,
  payment: ProvenPayment,
): Promise<void> {
  try {
    await payment.post('credit')
  } catch (error) {
    deps.report(error, exchange.requestId)
  }
}

async function chargedByMinute(
  deps: PipelineDeps,
  facts: Exchange,
  { stream: open, ...outgoing }: Outgoing,
): Promise<Outgoing> {
  if (open === undefined) return outgoing
  const { headers } = facts.incoming
  const identify = async () => {
    if (headers.authorization === undefined) return facts.caller
    const caller = await deps.identify(headers, facts.addressBucket)
    return caller
  }
  const failed = (error: unknown) => reportFailure(deps, error, facts.requestId)
  return { ...outgoing, stream: chargeMinutes(deps, { facts, identify, failed, open }) }
}

async function runSteps(deps: PipelineDeps, exchange: Exchange): Promise<Ending | undefined> {
  try {
    for (const step of STEPS) {
      const ending = await step.run(deps, exchange)
      if (ending !== undefined) return ending
    }
  } catch (error) {
    return failure(deps, exchange, error)
  }
  return undefined
}

async function rateLimitToShow(
  deps: PipelineDeps,
  { caller, rateLimit }: Exchange,
  { status }: Outgoing,
): Promise<RateLimitState> {
  if (rateLimit !== undefined) return rateLimit
  return status === 429 ? rateLimitAfterRefusal(deps, caller) : rateLimitOf(deps, caller)
}

function stamp(
  deps: PipelineDeps,
  { admission, settledHeaders }: Exchange,
  outgoing: Outgoing,
  rateLimit: RateLimitState,
): Outgoing {
  if (settledHeaders !== undefined) pushHeaders(outgoing.headers, settledHeaders)
  if (admission !== undefined) outgoing.headers.push('X-RateLimit-Source', admission.source)
  stampRateLimit(outgoing.headers, rateLimit, deps.clock())
  return outgoing
}

async function identify(deps: PipelineDeps, exchange: Exchange): Promise<Refusal | undefined> {
  const { route, incoming, addressBucket } = exchange
  const { authorization, 'x-api-key': misplaced } = incoming.headers
  if (route.open === true || (authorization ?? misplaced) === undefined) return undefined
  exchange.identifiedMs = deps.clock()
  const caller = await deps.identify(incoming.headers, addressBucket)
  if (caller.kind === 'refusal') return caller
  exchange.caller = caller
  return undefined
}

/** A key may be revoked or restricted while its call waits or works. */
const IDENTITY_AGE_MAX_MS = 500

async function identifyAgain(deps: PipelineDeps, exchange: Exchange): Promise<Refusal | undefined> {
  // A call that a payment of its own pays for is served to a key that was rotated meanwhile.
  if (exchange.payment !== undefined) return undefined
  const ageMs = Math.abs(deps.clock() - exchange.identifiedMs)
  if (ageMs <= IDENTITY_AGE_MAX_MS) return undefined
  return identify(deps, exchange)
}

function parse(
  _deps: PipelineDeps,
  exchange: Exchange,
): Ending | undefined | Promise<Ending | undefined> {
  const { route, incoming } = exchange
  for (const [name, values] of incoming.query)
    if ([name, ...values].some((text) => SECRET.test(text)))
      return refuse('invalid_parameter', 'send the key in the Authorization header, not in the URL')
  const prepared = route.prepare({
    query: incoming.query,
    path: incoming.path,
    body: incoming.body ?? {},
  })
  if (prepared.kind === 'refusal') return prepared
  exchange.prepared = prepared
  return prepared.check(exchange)
}

function guard(deps: PipelineDeps, exchange: Exchange): Ending | undefined {
  exchange.guarded = true
  return deps.guard(exchange.addressBucket, exchange.route.guard)
}

/** Refusals before the guard step take a token too, so that 401s and 400s are bounded. */
function guardLate(
  deps: PipelineDeps,
  exchange: Exchange,
  ending: Ending | undefined,
): Ending | undefined {
  if (exchange.guarded) return ending
  return guard(deps, exchange) ?? ending
}

async function notModified(_deps: PipelineDeps, exchange: Exchange): Promise<Ending | undefined> {
  const { route, incoming } = exchange
  const header = incoming.headers['if-none-match']
  if (header === undefined || !route.metered) return undefined
  const revision = await route.revision?.()
  if (revision === undefined) return undefined
  const etag = etagAt(exchange, revision)
  return matchesEtag(header, etag) ? { kind: 'not-modified', etag } : undefined
}

/** A call that would be refused, or brings a payment, causes no work before that is settled. */
async function askAgain(deps: PipelineDeps, exchange: Exchange): Promise<Ending | undefined> {
  const { route, caller } = exchange
  if (!route.metered) return undefined
  const carried = await deps.rejectUsedPayment?.(exchange)
  if (isRefusalOf(carried)) return carried
  if (carried === undefined && !deps.meter.wasRefused(caller)) return undefined
  const { refused, ...rateLimit } = await deps.meter.rateLimit(caller)
  if (refused === undefined && carried !== 'credited') return undefined
  if (refused !== undefined) {
    exchange.rateLimit = { ...rateLimit, remaining: 0 }
    deps.observeAdmission?.(refused.kind)
    if (refused.kind === 'limited') return refuseSpending(refused.cap)
  }
  // Settling takes seconds.
  releaseSlot(deps, exchange)
  return (await pay(deps, exchange)) ?? acquireSlot(deps, exchange)
}

function isRefusalOf(carried: Refusal | string | undefined): carried is Refusal {
  return typeof carried === 'object'
}

/** Settles the payment that the request carries; else 402. */
async function pay(deps: PipelineDeps, exchange: Exchange): Promise<Ending | undefined> {
  const payment = await deps.settle?.(exchange.caller, exchange)
  if (payment === undefined) return await deps.paymentRequired(exchange.caller, exchange)
  exchange.settledHeaders = payment.headers
  if (payment.kind === 'unsettled') return payment.ending
  if (payment.kind === 'proven') exchange.payment = payment
  return undefined
}

/** Larger answers hold their slot until they are charged, so that few of a caller wait in memory. */
const SMALL_BYTES_MAX = 65_536

async function admit(deps: PipelineDeps, exchange: Exchange): Promise<Ending | undefined> {
  const { route, incoming } = exchange
  if (!route.metered) return undefined
  if ((exchange.outgoing?.body.length ?? 0) <= SMALL_BYTES_MAX) releaseSlot(deps, exchange)
  if (incoming.isCut()) return CUT
  const refused = await identifyAgain(deps, exchange)
  if (refused !== undefined) return refused
  // A credit that only repays a receivable leaves nothing; its payment is not settled twice.
  const isPaid = exchange.payment !== undefined
  let admission = await charge(deps, exchange)
  if (admission.kind === 'exhausted' && !isPaid) {
    const ending = await pay(deps, exchange)
    if (ending !== undefined) return ending
    if (incoming.isCut()) return CUT
    const refusedNow = await identifyAgain(deps, exchange)
    if (refusedNow !== undefined) return refusedNow
    admission = await charge(deps, exchange)
  }
  if (admission.kind === 'unsettled') {
    exchange.settledHeaders = admission.headers
    return admission.ending
  }
  if (admission.kind === 'limited') return refuseSpending(admission.cap)
  if (admission.kind === 'admitted') return undefined
  return await deps.paymentRequired(exchange.caller, exchange)
}

/** A payment is credited in the transaction that debits its call. */
async function charge(
  deps: PipelineDeps,
  exchange: Exchange,
): Promise<Admission | UnsettledPayment> {
  const { payment, caller, incoming } = exchange
  exchange.payment = undefined
  const posted = await payment?.post('credit and call')
  if (posted?.kind === 'unsettled') return posted
  const admission = posted ?? (await deps.meter.admit(caller, () => incoming.isCut()))
  take(deps, exchange, admission)
  return admission
}

function take(deps: PipelineDeps, exchange: Exchange, admission: Admission): void {
  if (admission.kind === 'admitted') {
    exchange.admission = admission
    exchange.rateLimit = admission.rateLimit
    deps.observeAdmission?.(admission.source)
    return
  }
  exchange.rateLimit = { ...admission.rateLimit, remaining: 0 }
  deps.observeAdmission?.(admission.kind)
}

/** Also writes the answer, since what cannot be serialized must not be charged. */
async function work(deps: PipelineDeps, exchange: Exchange): Promise<Ending | undefined> {
  const { prepared } = exchange
  if (prepared === undefined) throw new Error('a route was run before it was parsed')
  const outcome = await prepared.run(exchange)
  if (outcome.kind !== 'answer' && outcome.kind !== 'stream') return outcome
  if (outcome.kind === 'answer' && outcome.rateLimit !== undefined)
    exchange.rateLimit = outcome.rateLimit
  exchange.outgoing = toWire(deps, exchange, outcome)
  return undefined
}
