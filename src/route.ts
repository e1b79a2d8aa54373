import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { stringify } from 'csv-stringify/sync'
import Negotiator from 'negotiator'
import { IsObject, type Static, type TObject, type TSchema, Type } from 'typebox'
import type { TLocalizedValidationError } from 'typebox/error'
import { Compile } from 'typebox/schema'
import type { Caller, RateLimitState } from '#base/caller.ts'
import { type Refusal, type RefusalCode, type RefusalDetail, refuse } from '#base/refusal.ts'

/** A request as routes and pages see it: an HTTP request, or a tool call inside of one. */
export interface Call {
  /** Never taken from a header. */
  readonly requestId: string
  readonly method: string
  /** Repeated headers are joined by commas, so that none is hidden. */
  readonly headers: IncomingHttpHeaders
  /** The counted address: one IPv4 or one IPv6 /64. */
  readonly addressBucket: string
  readonly path: Readonly<Record<string, string>>
  readonly query: HttpQuery
  /** Path and query, rebuilt from parsed values, so that no raw input reaches an answer. */
  readonly target: string
  /** BROKEN_BODY when unreadable. */
  readonly body: unknown
  /** Client left or server stopping. */
  readonly signal: AbortSignal
  /** Whether no answer can reach the client any more. */
  isCut(): boolean
}

export type HttpQuery = ReadonlyMap<string, readonly string[]>

export interface Outgoing {
  readonly status: number
  /** If a name is set in two spellings, the later one counts. */
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array
  /** Replaces the body. */
  readonly stream?: OpenStream
}

export const NO_QUERY: HttpQuery = new Map()

export function toTarget(pattern: string, path: Call['path'], query: HttpQuery): string {
  const plain = pattern.replace(/\{([^}]+)\}/g, (_, name: string) =>
    encodeURIComponent(path[name] ?? ''),
  )
  const pairs = [...query].flatMap(([name, values]) => values.map((value) => [name, value]))
  return pairs.length === 0 ? plain : `${plain}?${new URLSearchParams(pairs)}`
}

/**
 * Unreadable, or with a member that could reach a prototype. Refused together with parameters,
 * after the key.
 */
export const BROKEN_BODY: unique symbol = Symbol('broken body')

/** Lower-case names. */
export type RequestHeaders = Call['headers']

export function carriesPayment(headers: RequestHeaders): boolean {
  return headers['payment-signature'] !== undefined || headers['x-payment'] !== undefined
}

/** What the work may know of its request. */
export type RequestFacts = Pick<
  Call,
  'requestId' | 'headers' | 'target' | 'addressBucket' | 'signal'
>

export interface Asked<P extends Parameters> extends Pick<RequestFacts, 'headers'> {
  readonly parameters: ValuesOf<P>
  /** Values after defaults, as in `meta.query`. */
  readonly effective: Readonly<Record<string, Effective>>
  readonly question: string
}

interface HandlerInput<P extends Parameters, B extends TSchema> extends Asked<P> {
  readonly body: Static<B>
  readonly caller: Caller
  readonly call: RequestFacts
}

export interface Answer {
  readonly kind: 'answer'
  readonly status: 200 | 201 | 202
  /** Sent as is if `contentType` is set; then a string. */
  readonly body: unknown
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Shown in the body, so that headers match. */
  readonly rateLimit?: RateLimitState
  readonly etag?: string
}

export interface PaymentRequired {
  readonly kind: 'payment-required'
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Text in chunks, pulled as the client reads; ends soon after `signal`. */
export type OpenStream = (signal: AbortSignal) => AsyncIterable<string | Buffer>

/** Every started minute after the first is admitted as a call of its own. */
export interface StreamAnswer {
  readonly kind: 'stream'
  readonly contentType: string
  readonly open: OpenStream
}

export type Outcome = Answer | StreamAnswer | Refusal | PaymentRequired

interface AnswerShape {
  readonly description: string
  readonly schema: TSchema
}

interface RouteFacts {
  readonly method: 'GET' | 'POST'
  /** Literal paths win over parameters. */
  readonly path: string
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  /** Whether a call counts when it is answered 2xx. */
  readonly metered: boolean
  readonly answers: Readonly<Partial<Record<200 | 201 | 202, AnswerShape>>>
  readonly offer?: AnswerShape
  /** Skips the key look-up: works without the store. */
  readonly open?: boolean
  readonly csv?: boolean
  /** Answers text/plain unless `Accept` prefers JSON. */
  readonly plain?: boolean
  readonly stream?: boolean
  readonly refusals: readonly RefusalCode[]
  readonly guard?: 'mint' | 'gate' | 'claim' | 'webhook'
}

interface RouteDefinition<P extends Parameters, B extends TSchema> extends RouteFacts {
  readonly parameters: P
  readonly body?: B
  /** Checks what single parameters cannot, before any charge, 304 or work. */
  check?(asked: Asked<P>): Refusal | undefined | Promise<Refusal | undefined>
  /** The ETag of the answer that would be given now: allows a 304 before any query or charge. */
  etag?(asked: Asked<P>): Promise<string | undefined>
  handle(input: HandlerInput<P, B>): Outcome | Promise<Outcome>
}

type RawInput = Pick<Call, 'query' | 'path' | 'body'>

export interface Prepared {
  readonly kind: 'prepared'
  check(facts: Pick<RequestFacts, 'headers'>): Refusal | undefined | Promise<Refusal | undefined>
  etag(facts: Pick<RequestFacts, 'headers'>): Promise<string | undefined> | undefined
  run(call: RequestFacts, caller: Caller): Outcome | Promise<Outcome>
}

export interface Route extends RouteFacts {
  readonly parameters: Parameters
  readonly body: TSchema | undefined
  prepare(raw: RawInput): Prepared | Refusal
}

export function defineRoute<P extends Parameters, B extends TSchema = TSchema>(
  definition: RouteDefinition<P, B>,
): Route {
  const { handle, check, etag, parameters, body, ...facts } = definition
  const checkBody = body === undefined ? undefined : Compile(body)
  return {
    ...facts,
    parameters,
    body,
    prepare(raw) {
      if (raw.body === BROKEN_BODY)
        return refuse('invalid_json', 'the body is not valid JSON, or has a forbidden member name')
      const values = parseParameters(parameters, raw, otherFormat(parameters, raw))
      if (values.kind === 'refusal') return values
      if (checkBody !== undefined && !checkBody.Check(raw.body))
        return refuseBody(checkBody.Errors(raw.body)[1])
      const input = {
        parameters: values.parameters as ValuesOf<P>,
        effective: values.effective,
        question: JSON.stringify(values.effective),
      }
      return {
        kind: 'prepared',
        check: ({ headers }) => check?.({ ...input, headers }),
        etag: ({ headers }) => etag?.({ ...input, headers }),
        run: (call, caller) =>
          handle({ ...input, headers: call.headers, body: raw.body as Static<B>, caller, call }),
      }
    },
  }
}

/** Unknown parameters are ignored, but another format must fail. */
function otherFormat(parameters: Parameters, { query }: RawInput): RefusalDetail[] {
  if (parameters.format !== undefined) return []
  if (!query.get('format')?.some((each) => each !== 'json')) return []
  return [{ in: 'query', name: 'format', reason: 'can be json only', allowed: ['json'] }]
}

/** `errors` are those found before. */
export function parseParameters(
  parameters: Readonly<Record<string, Pick<Parameter<unknown>, 'in' | 'parse'>>>,
  raw: Pick<RawInput, 'path' | 'query'>,
  errors: RefusalDetail[] = [],
) {
  const values: Record<string, unknown> = {}
  const effective: Record<string, Effective> = {}
  let code: RefusalCode = 'invalid_parameter'
  for (const [name, parameter] of Object.entries(parameters)) {
    const given = parameter.in === 'path' ? [raw.path[name] ?? ''] : (raw.query.get(name) ?? [])
    const result = repeatedOrEmpty(given) ?? parameter.parse(given[0])
    if (result.ok) {
      values[name] = result.value
      effective[name] = result.effective
    } else {
      const { ok, code: own, ...problem } = result
      code = errors.length === 0 ? (own ?? 'invalid_parameter') : code
      errors.push({ in: parameter.in, name, ...problem })
    }
  }
  const [first] = errors
  if (first !== undefined) return refuse(code, `${first.name} ${first.reason}`, { errors })
  return { kind: 'parsed', parameters: values, effective } as const
}

function repeatedOrEmpty(given: readonly string[]): Parsed<unknown> | undefined {
  if (given.length > 1) return { ok: false, reason: 'must be given once' }
  if (given[0] === '') return { ok: false, reason: 'must not be empty' }
  return undefined
}

/** The schema names only the parent. */
function describeBodyError(error: TLocalizedValidationError): RefusalDetail {
  const path = error.instancePath.slice(1).replaceAll('/', '.')
  const missing = error.keyword === 'required' ? error.params.requiredProperties[0] : undefined
  const name = [path, missing].filter(Boolean).join('.') || 'body'
  return { in: 'body', name, reason: missing === undefined ? error.message : 'is required' }
}

/** Bounds the answer to a hostile body. */
const BODY_ERRORS_MAX = 8

function refuseBody(errors: readonly TLocalizedValidationError[]): Refusal {
  const details = errors.slice(0, BODY_ERRORS_MAX).map(describeBodyError)
  const [first = { name: 'body', reason: 'is invalid' }] = details
  return refuse('invalid_body', `${first.name} ${first.reason}`, { errors: details })
}

/** Names of members that the schema does not have, those of inner objects with a dot. */
export function unknownMembers(schema: TSchema | undefined, value: unknown): readonly string[] {
  if (!(value instanceof Object) || schema === undefined || !IsObject(schema)) return []
  return Object.entries(value).flatMap(([name, member]) => {
    if (!Object.hasOwn(schema.properties, name)) return [name]
    return unknownMembers(schema.properties[name], member).map((inner) => `${name}.${inner}`)
  })
}

export function answer(
  status: Answer['status'],
  body: unknown,
  more: Partial<Answer> = {},
): Answer {
  return { kind: 'answer', status, body, ...more }
}

/** A value after defaults, as in `meta.query`. */
export type Effective = string | number | null

export type Parsed<T> =
  | { readonly ok: true; readonly value: T; readonly effective: Effective }
  /** The code is `invalid_parameter` by default. */
  | ({ readonly ok: false; readonly code?: RefusalCode } & Omit<RefusalDetail, 'in' | 'name'>)

/** Documentation and parser together. */
export interface Parameter<T> {
  readonly in: 'query' | 'path'
  readonly description: string
  /** Default included. */
  readonly schema: TSchema
  readonly example?: string | number
  /** Undefined when absent, never empty. */
  parse(raw: string | undefined): Parsed<T>
}

export type Parameters = Readonly<Record<string, Parameter<unknown>>>

export type ValuesOf<P extends Parameters> = {
  readonly [Name in keyof P]: P[Name] extends Parameter<infer T> ? T : never
}

export function parsed<T>(value: T, effective: Effective): Parsed<T> {
  return { ok: true, value, effective }
}

/** Never clamps. */
export function parseInteger(
  raw: string,
  range: { readonly minimum: number; readonly maximum: number },
): Parsed<number> {
  const value = /^(0|[1-9][0-9]{0,14})$/.test(raw) ? Number(raw) : Number.NaN
  if (value >= range.minimum && value <= range.maximum) return parsed(value, value)
  return {
    ok: false,
    reason: `must be an integer from ${range.minimum} to ${range.maximum}`,
    ...range,
  }
}

export const CSV_TYPE = 'text/csv; charset=utf-8'

/** Accept may name parameters (RFC 4180, section 3). */
const OFFERED_CSV = `${CSV_TYPE}; header=present`

export const formatParameter: Parameter<'json' | 'csv' | undefined> = {
  in: 'query',
  description: '`json`, or `csv` (RFC 4180; also by `Accept: text/csv`).',
  schema: Type.Enum(['json', 'csv'], { default: 'json' }),
  parse(raw) {
    if (raw === undefined) return parsed(undefined, 'json')
    return raw === 'json' || raw === 'csv'
      ? parsed(raw, raw)
      : { ok: false, reason: 'must be json or csv', allowed: ['json', 'csv'] }
  },
}

export function wantsCsv(
  facts: Pick<RequestFacts, 'headers'>,
  format: 'json' | 'csv' | undefined,
): boolean {
  if (format !== undefined) return format === 'csv'
  const accept = facts.headers.accept?.toString()
  return preferredType(accept, [JSON_TYPE, OFFERED_CSV]) === OFFERED_CSV
}

/** RFC 4180, with a header row. */
export function toCsv(row: TObject, rows: readonly object[]): string {
  return stringify([...rows], {
    header: true,
    columns: Object.keys(row.properties),
    record_delimiter: 'windows',
    cast: { boolean: String },
  })
}

export const JSON_TYPE = 'application/json; charset=utf-8'
export const TEXT_TYPE = 'text/plain; charset=utf-8'

/**
 * RFC 9110, 12.5.1; the first offer if Accept is missing or matches none. Offers include
 * parameters, which ranges may name.
 */
export function preferredType<T extends string>(
  accept: string | undefined,
  offered: readonly [T, ...T[]],
): T {
  const [first] = offered
  if (accept === undefined || accept === '*/*') return first
  const preferred = new Negotiator({ headers: { accept } }).mediaType(offered)
  return offered.find((type) => type === preferred) ?? first
}

/**
 * Whether it is a page that is asked for. Browsers name XHTML; programs may name text/html without wanting it, as Java does
 * by default.
 */
export function wantsPage(accept: string | undefined): boolean {
  if (accept?.includes('application/xhtml+xml') !== true) return false
  return preferredType(accept, ['application/json', 'text/html']) === 'text/html'
}

export function acceptsType(accept: string | undefined, type: string): boolean {
  if (accept === undefined) return true
  return new Negotiator({ headers: { accept } }).mediaType([type]) !== undefined
}

/** RFC 9110, 12.5.3. */
export function acceptsCoding(header: string | undefined, coding: string): boolean {
  const negotiator = new Negotiator({ headers: { 'accept-encoding': header } })
  return negotiator.encoding([coding]) !== undefined
}

/** A weak entity tag (RFC 9110, 8.8.3). Equal ones mean equal content, so nothing per caller may enter it. */
export function weakEtag(of: string | Buffer): string {
  return `W/"${hash('sha256', of, 'base64url').slice(0, 22)}"`
}

/** Compares weakly (RFC 9110, 13.1.2). A proxy that compresses may have put the coding into the tag. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  const opaque = stripWeakness(etag)
  return header.split(',').some((each) => stripWeakness(each) === opaque)
}

function stripWeakness(etag: string): string {
  return etag
    .trim()
    .replace(/^W\//, '')
    .replace(/-(gzip|br|zstd)"$/, '"')
}
