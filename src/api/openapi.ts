import type { TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { REFUSALS, type RefusalCode } from '#domain/refusal.ts'
import type { JsonObject } from '#lib/json.ts'
import type { Route } from '#route/route.ts'
import type { CapturedExamples } from './captured-examples.ts'
import { NamedSchemas } from './named-schemas.ts'
import { ANSWER_HEADERS, headerComponents, headerRefs } from './openapi-headers.ts'
import { problemResponses } from './openapi-problems.ts'

interface OpenApiInput {
  /** OpenAPI `info`: title, version, licence, description in Markdown. */
  readonly info: JsonObject
  /** Has no trailing slash. */
  readonly serverUrl: string
  readonly routes: readonly Route[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly bearerFormat: string
  /** The 402 body; null without payments. */
  readonly paymentRequired: {
    readonly schema: TSchema
    readonly example: unknown
    readonly pricePerCallUsd: string
  } | null
  readonly examples: CapturedExamples
}

/** Absent where payments are not settled. */
export const TOPUP = 'topup'

/** Builds OpenAPI 3.1 from the schemas that validate requests. */
export function toOpenApi(input: OpenApiInput): JsonObject {
  const responses = new Map<string, JsonObject>()
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const route of input.routes) {
    paths[route.path] ??= {}
    Object.assign(paths[route.path] ?? {}, {
      [route.method.toLowerCase()]: operationOf(input, route, responses),
    })
  }
  const schemas = new NamedSchemas()
  return {
    openapi: '3.1.1',
    info: input.info,
    servers: [{ url: input.serverUrl }],
    tags: input.tags,
    security: [{}, { apiKey: [] }],
    paths: schemas.referIn(paths),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: input.bearerFormat,
          description: 'An API key. Optional: without one, calls count per client address.',
        },
      },
      headers: headerComponents({
        payments: takesPayments(input),
        csv: input.routes.some((route) => route.csv === true),
      }),
      responses: schemas.referIn(Object.fromEntries(responses)),
      schemas: schemas.all(),
    },
  }
}

function takesPayments({ paymentRequired }: OpenApiInput): boolean {
  return paymentRequired !== null
}

function operationOf(
  input: OpenApiInput,
  route: Route,
  responses: Map<string, JsonObject>,
): JsonObject {
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    ...(route.open === true ? { security: [{}] } : {}),
    ...priceOf(input, route),
    parameters: parametersOf(route),
    ...(route.body === undefined
      ? {}
      : { requestBody: requestBodyOf(route.body, input.examples.requests[route.operationId]) }),
    responses: {
      ...answersOf(input, route),
      ...notModifiedOf(input, route),
      ...paymentOf(input, route),
      ...problemResponses(
        {
          codes: refusalsOf(input, route),
          takesPayments: takesPayments(input),
          examples: input.examples.problems,
        },
        responses,
      ),
    },
  }
}

/** The price as directories of paid APIs read it; the free quota comes first. */
function priceOf({ paymentRequired, routes }: OpenApiInput, route: Route): JsonObject {
  if (paymentRequired === null || !route.metered) return {}
  const settles = routes.some(({ operationId }) => operationId === TOPUP)
  const price = { mode: 'fixed', currency: 'USD', amount: paymentRequired.pricePerCallUsd }
  return { 'x-payment-info': { price, ...(settles && { protocols: [{ x402: {} }] }) } }
}

function parametersOf(route: Route): readonly JsonObject[] {
  const own = Object.entries(route.parameters).map(([name, parameter]) => ({
    name,
    in: parameter.in,
    required: parameter.in === 'path',
    description: parameter.description,
    schema: parameter.schema,
    ...(parameter.example === undefined ? {} : { example: parameter.example }),
  }))
  if (route.stream === true) return [...own, LAST_EVENT_ID]
  if (!route.metered) return own
  const ifNoneMatch = {
    name: 'If-None-Match',
    in: 'header',
    description: 'An ETag of an earlier answer; 304 costs nothing.',
    schema: { type: 'string' },
  }
  return [...own, ifNoneMatch]
}

const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  description: 'The `id` of the last event received; continues after it.',
  schema: { type: 'string' },
}

function requestBodyOf(body: TSchema, bodyExample: unknown): JsonObject {
  // A request without a body is read as an empty object.
  const required = !Compile(body).Check({})
  const example = bodyExample === undefined ? {} : { example: bodyExample }
  return { required, content: { 'application/json': { schema: body, ...example } } }
}

function answersOf(input: OpenApiInput, route: Route): JsonObject {
  const answers: Record<string, JsonObject> = {}
  for (const [status, shape] of Object.entries(route.answers)) {
    const example = input.examples.answers[route.operationId]?.[status]
    answers[status] = {
      description: shape.description,
      headers: headerRefs(
        [...ANSWER_HEADERS[kindOf(route)], ...(route.csv === true ? ['Content-Disposition'] : [])],
        takesPayments(input),
      ),
      content: {
        [route.stream === true ? 'text/event-stream' : 'application/json']: {
          schema: shape.schema,
          ...(example === undefined ? {} : { example }),
        },
        ...(route.csv === true ? { 'text/csv': { schema: { type: 'string' } } } : {}),
        ...(route.plain === true ? { 'text/plain': { schema: { type: 'string' } } } : {}),
      },
    }
  }
  return answers
}

function kindOf(route: Route): keyof typeof ANSWER_HEADERS {
  if (route.metered) return 'metered'
  return route.offer === undefined ? 'free' : 'paid'
}

function notModifiedOf(input: OpenApiInput, route: Route): JsonObject {
  if (!route.metered || route.stream === true) return {}
  const headers = headerRefs(ANSWER_HEADERS.free.concat('ETag'), takesPayments(input))
  return { 304: { description: 'Nothing has changed since the ETag; not charged', headers } }
}

function paymentOf(input: OpenApiInput, route: Route): JsonObject {
  const { offer } = route
  const { paymentRequired } = input
  if (paymentRequired === null || (!route.metered && offer === undefined)) return {}
  const example = input.examples.answers[route.operationId]?.['402']
  const content = offer
    ? { schema: offer.schema, ...(example !== undefined && { example }) }
    : { schema: paymentRequired.schema, example: paymentRequired.example }
  return {
    402: {
      description: offer?.description ?? 'The daily quota is used up and no balance is left',
      headers: headerRefs(ANSWER_HEADERS.payment, true),
      content: { 'application/json': content },
    },
  }
}

function refusalsOf(input: OpenApiInput, route: Route): ReadonlySet<RefusalCode> {
  const codes = new Set<RefusalCode>(['invalid_parameter', 'invalid_body'])
  for (const code of ['rate_limited', 'internal_error', 'payload_too_large'] as const)
    codes.add(code)
  if (route.open !== true) codes.add('invalid_api_key').add('metering_unavailable')
  if (route.metered && takesPayments(input)) codes.add('spending_limit_reached')
  if (route.metered && takesPayments(input))
    codes.add('payment_already_used').add('settlement_pending')
  if (route.metered && !takesPayments(input)) codes.add('quota_exceeded')
  if (route.method === 'POST') codes.add('invalid_json').add('unsupported_media_type')
  for (const code of route.refusals) if (REFUSALS[code].status !== 402) codes.add(code)
  return codes
}
