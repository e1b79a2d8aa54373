import { REFUSALS, type RefusalCode } from '#domain/refusal.ts'
import type { JsonObject } from '#lib/json.ts'
import { headerRefs, refusalHeaders } from './openapi-headers.ts'

/** The body of every refusal but 402 (RFC 9457), which may have extra members. */
const PROBLEM_SCHEMA: JsonObject = {
  title: 'Problem',
  type: 'object',
  description: 'What went wrong, for programs (`error`) and for people (`errorMessage`).',
  required: ['type', 'title', 'status', 'detail', 'error', 'errorMessage', 'requestId'],
  properties: {
    type: { type: 'string', format: 'uri', description: 'A page about this error' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    error: { type: 'string', description: 'A code that never changes' },
    errorMessage: { type: 'string', description: 'The same text as `detail`' },
    requestId: { type: 'string' },
    errors: {
      type: 'array',
      description: 'Each wrong part of the request',
      items: {
        type: 'object',
        required: ['in', 'name', 'reason'],
        properties: {
          in: { type: 'string', enum: ['query', 'path', 'header', 'body'] },
          name: { type: 'string' },
          reason: { type: 'string' },
          allowed: { type: 'array', items: { type: 'string' } },
          minimum: { type: 'number' },
          maximum: { type: 'number' },
        },
      },
    },
  },
  additionalProperties: true,
}

interface ProblemInput {
  readonly codes: ReadonlySet<RefusalCode>
  readonly takesPayments: boolean
  readonly examples: Readonly<Partial<Record<RefusalCode, unknown>>>
}

/** Shares equal responses through `components.responses`. */
export function problemResponses(input: ProblemInput, shared: Map<string, JsonObject>): JsonObject {
  const byStatus = new Map<number, RefusalCode[]>()
  for (const code of input.codes) {
    const { status } = REFUSALS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const responses: Record<number, JsonObject> = {}
  for (const [status, own] of byStatus) {
    const name = nameOf(own.sort())
    if (!shared.has(name)) shared.set(name, problemResponse(status, own, input))
    responses[status] = { $ref: `#/components/responses/${name}` }
  }
  return responses
}

/** Makes names such as `InvalidBodyOrInvalidParameter`; some generators refuse a leading digit. */
function nameOf(codes: readonly RefusalCode[]): string {
  const pascal = (code: string) =>
    code.replace(/(?:^|_)([a-z])/g, (_, first) => first.toUpperCase())
  return codes.map(pascal).join('Or')
}

function problemResponse(
  status: number,
  codes: readonly RefusalCode[],
  { takesPayments, examples }: Pick<ProblemInput, 'takesPayments' | 'examples'>,
): JsonObject {
  return {
    description: codes.map((code) => `\`${code}\`: ${REFUSALS[code].title}`).join('; '),
    headers: headerRefs(refusalHeaders(status), takesPayments),
    content: {
      'application/problem+json': {
        schema: {
          allOf: [
            PROBLEM_SCHEMA,
            {
              type: 'object',
              properties: {
                error: { enum: codes },
                status: { type: 'integer', const: status },
              },
            },
          ],
        },
        ...examplesOf(codes, examples),
      },
    },
  }
}

/** One for each code; a code without one, such as a bug's, is left out. */
function examplesOf(codes: readonly RefusalCode[], examples: ProblemInput['examples']): JsonObject {
  const known = codes.filter((code) => examples[code] !== undefined)
  if (known.length === 0) return {}
  return {
    examples: Object.fromEntries(
      known.map((code) => [code, { summary: REFUSALS[code].title, value: examples[code] }]),
    ),
  }
}
