import { refuseUse } from '#access/keys/limits.ts'
import type { Admission, Meter } from '#access/meter/admission.ts'
import { MeteringUnavailable } from '#access/meter/admission.ts'
import { refuseSpending } from '#access/meter/spending-caps.ts'
import type { Caller, UsageFigures } from '#domain/caller.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import { matchesEtag } from '#http/etag.ts'
import type { Endpoint, Incoming, Outgoing } from '#http/exchange.ts'
import type { PaymentRequired, Prepared, RequestFacts, Route } from '#route/route.ts'
import type { AccessLog } from './access-log.ts'
import type { AdmissionSource } from './call-counts.ts'
import { type FiguresDeps, figuresAfterRefusal, figuresOf, noFigures } from './figures.ts'
import { type Asked, type Ending, etagAt, stampFigures, toWire } from './wire.ts'

export interface PipelineDeps extends FiguresDeps {
  readonly meter: Meter
  /** For absolute URLs in problem bodies; without a trailing slash. */
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
  ): PaymentRequired | Refusal | Promise<PaymentRequired>
  /** Refuses a payment that was used before, also where the call would be free. */
  screen?(facts: RequestFacts): Promise<Refusal | undefined> | undefined
  /** Settles a payment that came with the request; undefined when none came. */
  settle?(
    caller: Caller,
    facts: RequestFacts,
  ): Promise<SettledCall | UnsettledCall | Refusal | PaymentRequired | undefined>
  /** What a failure of infrastructure means to a caller; undefined for a bug. */
  outage(error: unknown): Refusal | undefined
  report(error: unknown, requestId: string): void
  observeAdmission?(source: AdmissionSource): void
  noteCaller?: AccessLog['noteCaller']
}

/** The payment was credited; the answer carries the headers, even if it fails. */
export interface SettledCall {
  readonly kind: 'settled'
  readonly headers: Readonly<Record<string, string>>
  /** Set when this call was admitted in the transaction of the credit. */
  readonly admission?: Admission
}

/** Nothing credited (yet); the answer carries the headers. */
export interface UnsettledCall {
  readonly kind: 'unsettled'
  readonly headers: Readonly<Record<string, string>>
  readonly ending: Refusal | PaymentRequired
}

class Exchange implements RequestFacts, Asked {
  readonly route: Route
  readonly incoming: Incoming
  readonly addressBucket: string
  /** The address until a key is accepted, so that a 401 shows the figures of the address. */
  caller: Caller
  prepared: Prepared | undefined
  guarded = false
  admission: Extract<Admission, { readonly kind: 'admitted' }> | undefined
  figures: UsageFigures | undefined
  /** Receipt of a payment settled by this request. */
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
 * Steps of a matched route, after the server's checks of path, method, size and type. Nothing is
 * charged before `admit`; any later failure is refunded.
 */
export const STEPS: readonly Step[] = [
  { name: 'identify', run: identify },
  { name: 'parse', run: parse },
  { name: 'guard', run: guard },
  { name: 'conditional', run: notModified },
  { name: 'admit', run: admit },
  { name: 'work', run: work },
]

/** Rejects only when writing the refusal itself fails. */
export function routeEndpoint(deps: PipelineDeps, route: Route): Endpoint {
  const { method, path } = route
  return { method, path, respond: (incoming) => answer(deps, route, incoming) }
}

async function answer(deps: PipelineDeps, route: Route, incoming: Incoming): Promise<Outgoing> {
  const bucket = deps.addressBucket(incoming.socketAddress, incoming.headers)
  const exchange = new Exchange(route, incoming, bucket, deps.anonymous(bucket))
  const ending = guardLate(deps, exchange, await runSteps(deps, exchange))
  const outgoing = wireOrRefusal(deps, exchange, ending)
  if (outgoing.status >= 300) await refund(deps, exchange)
  const charged =
    outgoing.stream === undefined ? outgoing : await chargedByMinute(deps, exchange, outgoing)
  return stamp(deps, exchange, charged, await figuresToShow(deps, exchange, charged))
}

async function chargedByMinute(
  deps: PipelineDeps,
  facts: Exchange,
  { stream: open, ...outgoing }: Outgoing,
): Promise<Outgoing> {
  if (open === undefined) return outgoing
  const { chargeMinutes } = await import('./charge-minutes.ts')
  const { headers } = facts.incoming
  const identify = async () => {
    if (headers.authorization === undefined) return facts.caller
    const caller = await deps.identify(headers, facts.addressBucket)
    return isRefusal(caller) ? caller : (refuseByLimits(facts, caller) ?? caller)
  }
  const failed = (error: unknown) => reportFailure(deps, error, facts.requestId)
  return { ...outgoing, stream: chargeMinutes(deps, { facts, identify, failed, open }) }
}

async function runSteps(deps: PipelineDeps, exchange: Exchange): Promise<Ending> {
  try {
    for (const step of STEPS) {
      const ending = await step.run(deps, exchange)
      if (ending !== undefined) return ending
    }
  } catch (error) {
    return failure(deps, exchange, error)
  }
  throw new Error('the last step gives an ending')
}

async function figuresToShow(
  deps: PipelineDeps,
  { caller, figures }: Exchange,
  { status }: Outgoing,
): Promise<UsageFigures> {
  if (figures !== undefined) return figures
  return status === 429 ? figuresAfterRefusal(deps, caller) : figuresOf(deps, caller)
}

function stamp(
  deps: PipelineDeps,
  { admission, incoming, caller }: Exchange,
  outgoing: Outgoing,
  figures: UsageFigures,
): Outgoing {
  deps.noteCaller?.(incoming, caller, admission?.source)
  if (admission !== undefined) outgoing.headers.push('X-RateLimit-Source', admission.source)
  if (admission?.isBalanceLow === true) outgoing.headers.push('X-Balance-Low', 'true')
  stampFigures(outgoing.headers, figures, deps.clock())
  return outgoing
}

async function identify(deps: PipelineDeps, exchange: Exchange): Promise<Refusal | undefined> {
  const { route, incoming, addressBucket } = exchange
  if (route.open === true || incoming.headers.authorization === undefined) return undefined
  const caller = await deps.identify(incoming.headers, addressBucket)
  if (isRefusal(caller)) return caller
  exchange.caller = caller
  return refuseByLimits(exchange, caller)
}

/** Each minute of a stream asks again. */
function refuseByLimits(
  { route, addressBucket, incoming }: Exchange,
  caller: Caller,
): Refusal | undefined {
  if (caller.kind !== 'keyed' || caller.limits === undefined) return undefined
  const path = route.metered ? route.path : undefined
  return refuseUse(caller.limits, { addressBucket, origin: incoming.headers.origin, path })
}

/** Secrets in URLs end up in logs and browser histories. */
const SECRET = /_[0-9a-f]{8}_[0-9a-f]{32}$/i

function parse(_deps: PipelineDeps, exchange: Exchange): Ending | undefined {
  const { route, incoming } = exchange
  for (const values of incoming.query.values())
    if (values.some((value) => SECRET.test(value)))
      return refuse('invalid_parameter', 'send the key in the Authorization header, not in the URL')
  const prepared = route.prepare({
    query: incoming.query,
    path: incoming.path,
    body: incoming.body ?? {},
  })
  if (isRefusal(prepared)) return prepared
  exchange.prepared = prepared
  return undefined
}

function guard(deps: PipelineDeps, exchange: Exchange): Ending | undefined {
  exchange.guarded = true
  return deps.guard(exchange.addressBucket, exchange.route.guard)
}

/** Refusals before the guard step take a token too, so that 401s and 400s are bounded. */
function guardLate(deps: PipelineDeps, exchange: Exchange, ending: Ending): Ending {
  if (exchange.guarded) return ending
  return guard(deps, exchange) ?? ending
}

async function notModified(_deps: PipelineDeps, exchange: Exchange): Promise<Ending | undefined> {
  const { route, incoming } = exchange
  const header = incoming.headers['if-none-match']
  if (header === undefined || !route.metered) return undefined
  const revision = await route.revision?.(exchange.prepared?.effective ?? {})
  if (revision === undefined) return undefined
  const { text, cacheControl } = revision
  const etag = etagAt(exchange, text)
  return matchesEtag(header, etag) ? { kind: 'not-modified', etag, cacheControl } : undefined
}

async function admit(deps: PipelineDeps, exchange: Exchange): Promise<Ending | undefined> {
  if (!exchange.route.metered) return undefined
  const used = await deps.screen?.(exchange)
  if (used !== undefined) return used
  const admission = await deps.meter.admit(exchange.caller)
  take(deps, exchange, admission)
  if (admission.kind === 'exhausted') return settle(deps, exchange)
  return refuseLimited(admission)
}

async function settle(deps: PipelineDeps, exchange: Exchange): Promise<Ending | undefined> {
  const settled = await deps.settle?.(exchange.caller, exchange)
  if (settled?.kind === 'settled') {
    exchange.settledHeaders = settled.headers
    const second = settled.admission ?? (await deps.meter.admit(exchange.caller))
    take(deps, exchange, second)
    if (second.kind !== 'exhausted') return refuseLimited(second)
  } else if (settled?.kind === 'unsettled') {
    exchange.settledHeaders = settled.headers
    return settled.ending
  } else if (settled !== undefined) return settled
  return await deps.paymentRequired(exchange.caller, exchange)
}

function take(deps: PipelineDeps, exchange: Exchange, admission: Admission): void {
  if (admission.kind === 'admitted') {
    exchange.admission = admission
    exchange.figures = admission.figures
    deps.observeAdmission?.(admission.source)
    return
  }
  exchange.figures = { ...admission.figures, remaining: 0 }
  deps.observeAdmission?.(admission.kind)
}

function refuseLimited(admission: Admission): Refusal | undefined {
  return admission.kind === 'limited' ? refuseSpending(admission.cap) : undefined
}

async function work(_deps: PipelineDeps, exchange: Exchange): Promise<Ending> {
  const { prepared } = exchange
  if (prepared === undefined) throw new Error('a route was run before it was parsed')
  const outcome = await prepared.run(exchange)
  if (outcome.kind === 'answer' && outcome.figures !== undefined) exchange.figures = outcome.figures
  return outcome
}

function failure(deps: PipelineDeps, exchange: Exchange, error: unknown): Refusal {
  if (error instanceof MeteringUnavailable) {
    deps.report(error, exchange.requestId)
    exchange.figures = noFigures(exchange.caller, deps.clock())
    return refuse(
      'metering_unavailable',
      'calls cannot be counted right now; if this one was charged, it is refunded',
    )
  }
  return reportFailure(deps, error, exchange.requestId)
}

/** What a failure of routes and pages means to a caller. */
export function reportFailure(deps: PipelineDeps, error: unknown, requestId: string): Refusal {
  deps.report(error, requestId)
  return (
    deps.outage(error) ??
    refuse('internal_error', 'internal error; quote the X-Request-Id to support')
  )
}

function wireOrRefusal(deps: PipelineDeps, exchange: Exchange, ending: Ending): Outgoing {
  try {
    return toWire(deps, exchange, ending)
  } catch (error) {
    return toWire(deps, exchange, failure(deps, exchange, error))
  }
}

/** The meter retries a failed refund; the answer does not wait. */
async function refund(deps: PipelineDeps, exchange: Exchange): Promise<void> {
  const { admission } = exchange
  if (admission === undefined) return
  exchange.admission = undefined
  exchange.figures = undefined
  try {
    await deps.meter.refund(admission.receipt)
    deps.observeAdmission?.('refunded')
  } catch (cause) {
    const receipt = JSON.stringify(admission.receipt)
    deps.report(new Error(`not refunded at once: ${receipt}`, { cause }), exchange.requestId)
  }
}
