import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import type { Caller, UsageFigures } from '#domain/caller.ts'
import {
  isRefusal,
  type Refusal,
  type RefusalCode,
  type RefusalDetail,
  refuse,
} from '#domain/refusal.ts'
import { BROKEN_BODY } from '#http/json-body.ts'
import type { Effective, Parameters, Parsed, ValuesOf } from './parameter.ts'

/** Header names in lower case; a repeated header is joined by Node's rules. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** What a handler may know of a request besides its parameters and body. */
export interface RequestFacts {
  readonly requestId: string
  readonly headers: RequestHeaders
  /** Path and query, built from what was understood of the request. */
  readonly target: string
  /** The client's address bucket: one IPv4 address or one IPv6 /64. */
  readonly addressBucket: string
  /** Aborts when the client leaves or the server stops. */
  readonly signal: AbortSignal
}

export interface HandlerInput<P extends Parameters, B extends TSchema> extends RequestFacts {
  readonly parameters: ValuesOf<P>
  /** Parameters after defaults, as in `meta.query`. */
  readonly effective: Readonly<Record<string, Effective>>
  /** The same as text, equal for equal queries. */
  readonly question: string
  readonly body: Static<B>
  readonly caller: Caller
}

export interface Answer {
  readonly kind: 'answer'
  readonly status: 200 | 201 | 202
  /** Serialized by the route's schema; with `contentType`, a string sent as is. */
  readonly body: unknown
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Figures shown in the body, so that the headers match. */
  readonly figures?: UsageFigures
  /** Revision of the data; with the effective parameters it makes the ETag. */
  readonly revision?: string
}

/** An offer to pay instead of a problem; sent as `application/json`. */
export interface PaymentRequired {
  readonly kind: 'payment-required'
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export type Outcome = Answer | Refusal | PaymentRequired

export interface AnswerShape {
  readonly description: string
  readonly schema: TSchema
}

interface RouteFacts {
  readonly method: 'GET' | 'POST'
  /** OpenAPI form: `/api/dividends/{address}`. Literal paths win over parameters. */
  readonly path: string
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  /** Counted when answered 2xx. */
  readonly metered: boolean
  readonly answers: Readonly<Partial<Record<200 | 201 | 202, AnswerShape>>>
  /** The 402 body of this route itself. */
  readonly offer?: AnswerShape
  /** Skips the key look-up, so that the route works without the store. */
  readonly open?: boolean
  /** Also answers `text/csv`. */
  readonly csv?: boolean
  /** Beyond those of every route. */
  readonly refusals: readonly RefusalCode[]
  /** A tighter bucket of the abuse guard. */
  readonly guard?: 'mint' | 'claim'
  /** Current revision; allows a 304 before any query or charge. */
  revision?(): Promise<string | undefined>
}

export interface RouteDefinition<P extends Parameters, B extends TSchema> extends RouteFacts {
  readonly parameters: P
  readonly body?: B
  readonly bodyExample?: Static<B>
  /** Synchronous where the answer is cached. */
  handle(input: HandlerInput<P, B>): Outcome | Promise<Outcome>
}

export interface RawInput {
  /** Every value of every query parameter, in order. */
  readonly query: ReadonlyMap<string, readonly string[]>
  readonly path: Readonly<Record<string, string>>
  /** Parsed JSON, or BROKEN_BODY. */
  readonly body: unknown
}

/** A request with valid parameters and body. */
export interface Prepared {
  readonly effective: Readonly<Record<string, Effective>>
  run(facts: RequestFacts & { readonly caller: Caller }): Outcome | Promise<Outcome>
}

/** One operation: documentation, parser and handler together. */
export interface Route extends RouteFacts {
  readonly parameters: Parameters
  readonly body: TSchema | undefined
  readonly bodyExample: unknown
  prepare(raw: RawInput): Prepared | Refusal
}

export function defineRoute<P extends Parameters, B extends TSchema = TSchema>(
  definition: RouteDefinition<P, B>,
): Route {
  const { handle, parameters, body, bodyExample, ...facts } = definition
  const checkBody = body === undefined ? undefined : Compile(body)
  return {
    ...facts,
    parameters,
    body,
    bodyExample,
    prepare(raw) {
      if (raw.body === BROKEN_BODY)
        return refuse('invalid_json', 'the body is not valid JSON, or has a forbidden member name')
      const values = parseParameters(parameters, raw)
      if (isRefusal(values)) return values
      if (checkBody !== undefined && !checkBody.Check(raw.body))
        return refuseBody(checkBody.Errors(raw.body)[1])
      const { effective } = values
      const input = {
        parameters: values.parameters as ValuesOf<P>,
        effective,
        question: JSON.stringify(effective),
        body: raw.body as Static<B>,
      }
      return { effective, run: (facts) => handle(new Input<P, B>(facts, input)) }
    },
  }
}

/**
 * A class with a lazy signal: creating one costs more than most answers, and object literals with
 * getters are slow to collect.
 */
class Input<P extends Parameters, B extends TSchema> implements HandlerInput<P, B> {
  readonly parameters: ValuesOf<P>
  readonly effective: Readonly<Record<string, Effective>>
  readonly question: string
  readonly body: Static<B>
  readonly requestId: string
  readonly headers: RequestFacts['headers']
  readonly addressBucket: string
  readonly caller: Caller
  readonly #known: RequestFacts

  constructor(
    known: RequestFacts & { readonly caller: Caller },
    parsed: Pick<HandlerInput<P, B>, 'parameters' | 'effective' | 'question' | 'body'>,
  ) {
    this.parameters = parsed.parameters
    this.effective = parsed.effective
    this.question = parsed.question
    this.body = parsed.body
    this.requestId = known.requestId
    this.headers = known.headers
    this.addressBucket = known.addressBucket
    this.caller = known.caller
    this.#known = known
  }

  get target(): string {
    return this.#known.target
  }

  get signal(): AbortSignal {
    return this.#known.signal
  }
}

function parseParameters(parameters: Parameters, raw: RawInput) {
  const values: Record<string, unknown> = {}
  const effective: Record<string, Effective> = {}
  const errors: RefusalDetail[] = []
  let code: RefusalCode = 'invalid_parameter'
  // Unknown parameters are ignored, but a request for another format must fail.
  if (parameters.format === undefined && raw.query.get('format')?.some((each) => each !== 'json'))
    errors.push({ in: 'query', name: 'format', reason: 'must be json here', allowed: ['json'] })
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
  return { parameters: values, effective }
}

function repeatedOrEmpty(given: readonly string[]): Parsed<unknown> | undefined {
  if (given.length > 1) return { ok: false, reason: 'must be given once' }
  if (given[0] === '') return { ok: false, reason: 'must not be empty' }
  return undefined
}

interface SchemaError {
  readonly keyword: string
  readonly instancePath: string
  readonly params: object
  readonly message: string
}

/** Names the missing or extra member, where the schema names only its parent. */
function describeBodyError({ keyword, instancePath, params, message }: SchemaError): RefusalDetail {
  const path = instancePath.slice(1).replaceAll('/', '.')
  const named = { required: 'requiredProperties', additionalProperties: 'additionalProperties' }
  const list = Object.entries(params).find(
    ([name]) => keyword in named && Object.values(named).includes(name),
  )?.[1]
  const member = Array.isArray(list) ? String(list[0]) : undefined
  const name = [path, member].filter(Boolean).join('.') || 'body'
  const reason =
    member === undefined ? message : keyword === 'required' ? 'is required' : 'is not known'
  return { in: 'body', name, reason }
}

/** Bounds the answer to a hostile body. */
const BODY_ERRORS_MAX = 8

function refuseBody(errors: readonly SchemaError[]): Refusal {
  const details = errors
    .filter((error) => error.keyword !== 'boolean')
    .slice(0, BODY_ERRORS_MAX)
    .map(describeBodyError)
  const [first] = details
  return refuse('invalid_body', `${first?.name ?? 'body'} ${first?.reason ?? 'is invalid'}`, {
    errors: details,
  })
}

export function answer(
  status: Answer['status'],
  body: unknown,
  more: Partial<Answer> = {},
): Answer {
  return { kind: 'answer', status, body, ...more }
}
