import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { capturedExamples, type Examples } from '#api/examples.ts'
import { describeService, getServiceFacts } from '#api/meta-route.ts'
import { isObject, type JsonObject } from '#base/json.ts'
import { REFUSALS, type RefusalCode } from '#base/refusal.ts'
import { tiers } from '#base/tier.ts'
import type { Context } from '#context.ts'
import { eventKinds } from '#data/kinds.ts'
import { PaymentRequiredBody, paymentRequiredBody } from '#payments/x402/offer.ts'
import type { Route } from '#route.ts'

/** Absent where payments are not settled. */
export const TOPUP = 'topup'

/** Builds OpenAPI 3.1 from the schemas that validate requests. `live` examples replace captured ones. */
export function toOpenApi(ctx: Context, routes: readonly Route[], live: Examples = {}): JsonObject {
  const facts = getServiceFacts(ctx)
  const { name, version, publicBaseUrl, keyPrefix } = facts
  const input = toInput(ctx, routes, live)
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const route of routes) {
    const operation = { [route.method.toLowerCase()]: toOperation(input, route) }
    paths[route.path] = { ...paths[route.path], ...operation }
  }
  const schemas = new NamedSchemas()
  return {
    openapi: '3.1.1',
    info: {
      title: `${name} API`,
      version,
      summary: 'On-chain history and statistics of a token ecosystem',
      description: describeService(facts),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: publicBaseUrl }],
    tags: listTags(routes),
    security: [{}, { apiKey: [] }],
    paths: schemas.referIn(paths),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: `${keyPrefix}_<publicId>_<32 hex characters>`,
          description: 'An API key. Optional: without one, calls count per client address.',
        },
      },
      headers: headerComponents(input),
      responses: schemas.referIn(Object.fromEntries(input.responses)),
      schemas: schemas.all(),
    },
  }
}

type OpenApiInput = ReturnType<typeof toInput>

function toInput(ctx: Context, routes: readonly Route[], live: Examples) {
  const facts = getServiceFacts(ctx)
  const captured = capturedExamples(facts)
  const { anonymous: dailyQuota } = ctx.ecosystem.quotas
  const takesPayments = facts.payment !== null
  return {
    takesPayments,
    perCallUsd: facts.payment?.perCallUsd,
    settles: routes.some(({ operationId }) => operationId === TOPUP),
    paymentRequired: takesPayments && {
      schema: PaymentRequiredBody,
      example: paymentRequiredBody(ctx, { kind: 'anonymous', dailyQuota }, false),
    },
    examples: { ...captured, answers: { ...captured.answers, ...live } },
    /** Shared by operations. */
    responses: new Map<string, JsonObject>(),
  }
}

const STATISTICS = { name: 'Statistics', description: 'Figures of the ecosystem now and over time' }

const OTHER_TAGS = [
  { name: 'Holders', description: 'Who holds how much' },
  { name: 'Stream', description: 'Changes as they happen, as server-sent events' },
  { name: 'Keys', description: 'API keys, minted with a wallet signature' },
  { name: 'Usage', description: 'Calls counted today' },
  { name: 'Payment', description: 'Calls beyond the quota, paid in advance' },
  { name: 'Service', description: 'The service itself; never metered' },
]

function listTags(routes: readonly Route[]) {
  const used = new Set(routes.map((route) => route.tag))
  const known = [STATISTICS, ...eventKinds.map(({ tag }) => tag), ...OTHER_TAGS]
  const declared = known.filter(({ name }) => used.delete(name))
  return [...declared, ...[...used].map((name) => ({ name, description: name }))]
}

function toOperation(input: OpenApiInput, route: Route): JsonObject {
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    security: route.open === true ? [{}] : undefined,
    'x-payment-info': describePrice(input, route),
    parameters: toParameters(route),
    requestBody: toRequestBody(route, input.examples.requests[route.operationId]),
    responses: {
      ...toAnswers(input, route),
      304: route.metered && route.stream !== true ? describeNotModified(input) : undefined,
      402: describePayment(input, route),
      ...problemResponses(input, listRefusals(input, route)),
    },
  }
}

/** The price in the form that directories of paid APIs read; the free quota comes first. */
function describePrice(input: OpenApiInput, route: Route): JsonObject | undefined {
  if (input.perCallUsd === undefined || !route.metered) return undefined
  const price = { mode: 'fixed', currency: 'USD', amount: input.perCallUsd }
  return { price, protocols: input.settles ? [{ x402: {} }] : undefined }
}

function toParameters(route: Route): readonly JsonObject[] {
  const own = Object.entries(route.parameters).map(([name, parameter]) => ({
    name,
    in: parameter.in,
    required: parameter.in === 'path',
    description: parameter.description,
    schema: parameter.schema,
    ...(parameter.example === undefined ? {} : { example: parameter.example }),
  }))
  if (route.stream === true) return [...own, inHeader('Last-Event-ID', LAST_EVENT)]
  if (!route.metered) return own
  return [...own, inHeader('If-None-Match', 'An ETag of an earlier answer; 304 costs nothing.')]
}

const LAST_EVENT = 'The `id` of the last event received; continues after it.'

function inHeader(name: string, description: string): JsonObject {
  return { name, in: 'header', description, ...TEXT }
}

function toRequestBody({ body }: Route, example: unknown): JsonObject | undefined {
  if (body === undefined) return undefined
  // A request without a body is read as an empty object.
  const required = !Compile(body).Check({})
  return { required, content: { 'application/json': { schema: body, example } } }
}

const TEXT = { schema: { type: 'string' } }

function toAnswers(input: OpenApiInput, route: Route): JsonObject {
  const answers: Record<string, JsonObject> = {}
  for (const [status, { description, schema }] of Object.entries(route.answers)) {
    const example = input.examples.answers[route.operationId]?.[status]
    answers[status] = {
      description,
      headers: headerRefs(input, Number(status)),
      content: {
        [route.stream === true ? 'text/event-stream' : 'application/json']: { schema, example },
        'text/csv': route.csv === true ? TEXT : undefined,
        'text/plain': route.plain === true ? TEXT : undefined,
      },
    }
  }
  return answers
}

function describeNotModified(input: OpenApiInput): JsonObject {
  const description = 'Nothing has changed since the ETag; not charged'
  return { description, headers: headerRefs(input, 304) }
}

function describePayment(input: OpenApiInput, route: Route): JsonObject | undefined {
  const { offer, operationId } = route
  const { paymentRequired } = input
  if (!paymentRequired || (!route.metered && offer === undefined)) return undefined
  const example = input.examples.answers[operationId]?.['402']
  const content = offer ? { schema: offer.schema, example } : paymentRequired
  return {
    description: offer?.description ?? 'The daily quota is used up and no balance is left',
    headers: headerRefs(input, 402),
    content: { 'application/json': content },
  }
}

function listRefusals({ takesPayments }: OpenApiInput, route: Route): ReadonlySet<RefusalCode> {
  const codes: RefusalCode[] = ['invalid_parameter', 'invalid_body', 'payload_too_large']
  codes.push('rate_limited', 'internal_error')
  if (route.open !== true) codes.push('invalid_api_key', 'metering_unavailable')
  if (route.metered && takesPayments)
    codes.push('spending_limit_reached', 'payment_already_used', 'settlement_pending')
  if (route.metered && !takesPayments) codes.push('quota_exceeded')
  if (route.method === 'POST') codes.push('invalid_json', 'unsupported_media_type')
  codes.push(...route.refusals.filter((code) => REFUSALS[code].status !== 402))
  return new Set(codes)
}

const text = (description: string, more: JsonObject = {}, required = true): JsonObject => ({
  description,
  required,
  schema: { type: 'string', ...more },
})

const optional = (description: string, more?: JsonObject) => text(description, more, false)

const count = (description: string) => text(description, { type: 'integer', minimum: 0 })

export const HEADER_COMPONENTS: Readonly<Record<string, JsonObject>> = {
  'X-RateLimit-Limit': count("The caller's daily quota"),
  'X-RateLimit-Remaining': count('Free calls left today'),
  'X-RateLimit-Reset': count('Unix seconds of the next reset (00:00 UTC)'),
  'X-RateLimit-Tier': text("The caller's tier", { enum: tiers.map(({ name }) => name) }),
  'X-RateLimit-Source': optional('What paid for the call', { enum: ['quota', 'prepaid'] }),
  'RateLimit-Policy': text('IETF form of the quota', {
    pattern: '^"daily";q=[0-9]+;w=86400$',
    examples: ['"daily";q=2000;w=86400'],
  }),
  RateLimit: text('IETF form: calls left and seconds to the reset', {
    pattern: '^"daily";r=[0-9]+;t=[0-9]+$',
    examples: ['"daily";r=1999;t=43200'],
  }),
  'X-Request-Id': text('Identifies this request; quote it to support'),
  'X-Ignored-Parameters': optional(
    'Unknown query parameters and body members, percent-encoded, with a comma between',
  ),
  'Access-Control-Allow-Origin': text('Any origin may read', { const: '*' }),
  'Cache-Control': text('What a cache may do'),
  ETag: optional('The state that the answer shows', { pattern: '^W/"[^"]+"$' }),
  Link: optional('The next page, rel="next" (RFC 8288)'),
  'Content-Disposition': optional('A name for the file of CSV'),
  'Retry-After': count('Seconds to wait before the next try'),
  'PAYMENT-REQUIRED': optional(
    'What stock x402 clients can pay at once: base64 of a PaymentRequired, x402 version 2',
  ),
  'PAYMENT-RESPONSE': optional(
    'Result of the payment sent with the call: base64 of an x402 SettleResponse',
  ),
  'X-PAYMENT-RESPONSE': optional('The same for a payment in X-PAYMENT, x402 version 1'),
  'WWW-Authenticate': text('The scheme of a key', { const: 'Bearer' }),
}

const OF_STATUS: Readonly<Record<number, readonly string[]>> = {
  200: ['X-RateLimit-Source', 'ETag', 'Link', 'Content-Disposition'],
  304: ['ETag'],
  401: ['WWW-Authenticate'],
  402: ['PAYMENT-REQUIRED'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

const PAYMENT_RESPONSES = ['PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE']

const OF_SOME = new Set([...Object.values(OF_STATUS).flat(), ...PAYMENT_RESPONSES])

const EVERYWHERE = Object.keys(HEADER_COMPONENTS).filter((name) => !OF_SOME.has(name))

function headerRefs({ takesPayments }: OpenApiInput, status: number): JsonObject {
  const names = [...EVERYWHERE, ...(OF_STATUS[status] ?? [])]
  if (takesPayments) names.push(...PAYMENT_RESPONSES)
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function headerComponents({ takesPayments }: OpenApiInput): JsonObject {
  const isThere = (name: string) => takesPayments || !name.includes('PAYMENT')
  return Object.fromEntries(Object.entries(HEADER_COMPONENTS).filter(([name]) => isThere(name)))
}

/** The body of every refusal but 402 (RFC 9457), which may have extra members. */
const Problem = Type.Object(
  {
    type: Type.String({ format: 'uri', description: 'A page about this error' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    error: Type.String({ description: 'A code that never changes' }),
    errorMessage: Type.String({ description: 'The same text as `detail`' }),
    requestId: Type.String(),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          in: Type.Enum(['query', 'path', 'header', 'body']),
          name: Type.String(),
          reason: Type.String(),
          allowed: Type.Optional(Type.Array(Type.String())),
          minimum: Type.Optional(Type.Number()),
          maximum: Type.Optional(Type.Number()),
        }),
        { description: 'Each wrong part of the request' },
      ),
    ),
  },
  {
    title: 'Problem',
    description: 'What went wrong, for programs (`error`) and for people (`errorMessage`).',
    additionalProperties: true,
  },
)

/** Shares equal responses through `components.responses`. */
function problemResponses(input: OpenApiInput, codes: ReadonlySet<RefusalCode>): JsonObject {
  const responses: Record<number, JsonObject> = {}
  for (const [status, own] of Map.groupBy(codes, (code) => REFUSALS[code].status)) {
    const name = nameResponse(own.sort())
    input.responses.getOrInsertComputed(name, () => problemResponse(status, own, input))
    responses[status] = { $ref: `#/components/responses/${name}` }
  }
  return responses
}

/** Makes names such as `InvalidBodyOrInvalidParameter`; some generators refuse a leading digit. */
function nameResponse(codes: readonly RefusalCode[]): string {
  const pascal = (code: string) =>
    code.replace(/(?:^|_)([a-z])/g, (_, first) => first.toUpperCase())
  return codes.map(pascal).join('Or')
}

function problemResponse(
  status: number,
  codes: readonly RefusalCode[],
  input: OpenApiInput,
): JsonObject {
  return {
    description: codes.map((code) => `\`${code}\`: ${REFUSALS[code].title}`).join('; '),
    headers: headerRefs(input, status),
    content: {
      'application/problem+json': {
        schema: {
          allOf: [
            Problem,
            {
              type: 'object',
              properties: {
                error: { enum: codes },
                status: { type: 'integer', const: status },
              },
            },
          ],
        },
        examples: pickExamples(codes, input.examples.problems),
      },
    },
  }
}

/** Lists one example per code; codes without one, such as a bug's, are left out. */
function pickExamples(
  codes: readonly RefusalCode[],
  problems: OpenApiInput['examples']['problems'],
): JsonObject | undefined {
  const known = codes.filter((code) => problems[code] !== undefined)
  if (known.length === 0) return undefined
  return Object.fromEntries(
    known.map((code) => [code, { summary: REFUSALS[code].title, value: problems[code] }]),
  )
}

/** Moves schemas with a title to `components.schemas`; generators name their types after them. */
export class NamedSchemas {
  readonly #found = new Map<string, unknown>()

  /** Replaces each `schema` member by a reference; examples may have titles of their own. */
  referIn(part: JsonObject): JsonObject {
    return mapMembers(part, (each, name) => {
      if (name === 'schema') return this.#refer(each)
      return isObject(each) && !name.startsWith('example') ? this.referIn(each) : each
    })
  }

  #refer(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.#refer(each))
    if (!isObject(schema)) return schema
    const own = addEnumType(mapMembers(schema, (each) => this.#refer(each)))
    if (typeof own.title !== 'string') return own
    const { title, ...named } = own
    const known = this.#found.get(title)
    assert(known === undefined || isDeepStrictEqual(known, named), `two schemas "${title}"`)
    this.#found.set(title, named)
    return { $ref: `#/components/schemas/${title}` }
  }

  all(): JsonObject {
    return Object.fromEntries([...this.#found].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

/** Adds a type to enums, without which some generators of clients and models refuse them. */
export function addEnumType(schema: JsonObject): JsonObject {
  return 'enum' in schema && !('type' in schema) ? { type: 'string', ...schema } : schema
}

/** Drops members that are undefined. */
function mapMembers(
  object: JsonObject,
  change: (value: unknown, name: string) => unknown,
): JsonObject {
  const present = Object.entries(object).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present.map(([name, value]) => [name, change(value, name)]))
}
