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
import { BROKEN_BODY } from './json-body.ts'
import type { Effective, Parameters, Parsed, ValuesOf } from './parameter.ts'

/** What a handler may know of a request besides its parameters and body. */
export interface RequestFacts {
  readonly requestId: string
  /** Header names in lower case; a repeated header is joined by Node's rules. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The client's address bucket: one IPv4 address or one IPv6 /64. */
  readonly addressBucket: string
  /** Aborts when the client goes away or the server stops. */
  readonly signal: AbortSignal
}

export interface HandlerInput<P extends Parameters, B extends TSchema> extends RequestFacts {
  readonly parameters: ValuesOf<P>
  /** Parameters after defaults, as `meta.query` shows them. */
  readonly effective: Readonly<Record<string, Effective>>
  /** The same as one text, equal for equal questions. */
  readonly question: string
  readonly body: Static<B>
  readonly caller: Caller
}

/** A handler's good answer. */
export interface Answer {
  readonly kind: 'answer'
  readonly status: 200 | 201 | 202
  /** Serialized by the route's schema; a string together with `contentType` is sent as it stands. */
  readonly body: unknown
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The caller's figures that the body shows, so that the headers show the same. */
  readonly figures?: UsageFigures
  /** The state that the body shows; makes the ETag together with the effective parameters. */
  readonly revision?: string
}

/** A 402 whose body is not a problem but an offer to pay; sent as `application/json`. */
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
  /** Counted against the quota when answered 2xx. */
  readonly metered: boolean
  /** Good answers by status. */
  readonly answers: Readonly<Partial<Record<200 | 201 | 202, AnswerShape>>>
  /** The body of a 402 that this route gives by itself. */
  readonly offer?: AnswerShape
  /** Answers anyone alike: a key is not looked up, so that the route works without the store. */
  readonly open?: boolean
  /** Also answers `text/csv`. */
  readonly csv?: boolean
  /** Refusals of this route besides those that any route can meet. */
  readonly refusals: readonly RefusalCode[]
  /** Tighter guard than the general one: which bucket of the abuse guard counts this route. */
  readonly guard?: 'mint' | 'claim'
  /** The state an answer would show now; lets a 304 leave before any query and any charge. */
  revision?(): Promise<string | undefined>
}

export interface RouteDefinition<P extends Parameters, B extends TSchema> extends RouteFacts {
  readonly parameters: P
  readonly body?: B
  readonly bodyExample?: Static<B>
  /** What is known already need not be waited for. */
  handle(input: HandlerInput<P, B>): Outcome | Promise<Outcome>
}

/** What the server knows of a request before it is parsed. */
export interface RawInput {
  /** Every value of every query parameter, in order. */
  readonly query: ReadonlyMap<string, readonly string[]>
  readonly path: Readonly<Record<string, string>>
  /** Parsed JSON, or BROKEN_BODY. */
  readonly body: unknown
}

/** A request whose parameters and body are right. */
export interface Prepared {
  readonly effective: Readonly<Record<string, Effective>>
  run(facts: RequestFacts & { readonly caller: Caller }): Outcome | Promise<Outcome>
}

/** One operation of the API: its document, its parser and its handler in one place. */
export interface Route extends RouteFacts {
  readonly parameters: Parameters
  readonly body: TSchema | undefined
  readonly bodyExample: unknown
  prepare(raw: RawInput): Prepared | Refusal
}

/** Makes a route of a definition; the handler sees typed parameters and body only. */
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
 * What a handler is given. A class, because a signal costs more than most answers and is made when
 * asked for, and an object literal with a getter costs a third of the throughput in collected garbage.
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

  get signal(): AbortSignal {
    return this.#known.signal
  }
}

function parseParameters(parameters: Parameters, raw: RawInput) {
  const values: Record<string, unknown> = {}
  const effective: Record<string, Effective> = {}
  const errors: RefusalDetail[] = []
  let code: RefusalCode = 'invalid_parameter'
  // An unknown parameter is ignored, but whoever asks for a format must not read another.
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

/** Names the member that is missing or too many, where the schema only names its parent. */
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

/** Enough to mend a body; a hostile one cannot make the answer long. */
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

/** A good answer with a JSON body. */
export function answer(
  status: Answer['status'],
  body: unknown,
  more: Partial<Answer> = {},
): Answer {
  return { kind: 'answer', status, body, ...more }
}
