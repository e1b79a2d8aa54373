import { createHash } from 'node:crypto'
import { type TObject, type TProperties, type TSchema, Type } from 'typebox'
import { JSON_TYPE, weakEtag } from '#api/http/accept.ts'
import { type Chain, type Ecosystem, notConfigured } from '#chains/ecosystem/ecosystem.ts'
import type { IndexStatus } from '#chains/indexer/status.ts'
import type { Context } from '#context.ts'
import { isRefusal, type Refusal, type RefusalCode } from '#domain/refusal.ts'
import { named } from '#lib/schema.ts'
import { CSV_TYPE, formatParameter, toCsv, wantsCsv } from '#route/csv.ts'
import type { Effective, Parameters, ValuesOf } from '#route/parameter.ts'
import { type Answer, type Asked, answer, defineRoute, type Route } from '#route/route.ts'
import type { Connection } from '#store/engine.ts'
import { answersOf, type Question, type RegisterState } from './answer-cache.ts'
import { buildMeta, metaSchema, notReadYet, type PageMeta, pageSchema } from './meta.ts'

export interface DataQuery<Values> {
  readonly connection: Connection
  readonly status: IndexStatus
  readonly parameters: Values
}

export interface DataResult {
  readonly data: unknown
  readonly totals?: unknown
  readonly page?: PageMeta
  /** Overrides `meta.query` for parameters that only the query resolves. */
  readonly query?: Readonly<Record<string, Effective>>
}

export interface CsvForm {
  /** Describes a row of these data, or of any. */
  readonly row: TObject | ((data: unknown) => TObject)
  rows(data: unknown): readonly object[]
}

export interface DataRouteDefinition<P extends Parameters> {
  readonly path: string
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  readonly parameters: P
  readonly data: TSchema
  readonly totals?: TSchema
  readonly paged?: boolean
  /** Set for series and lists. */
  readonly csv?: CsvForm
  readonly refusals?: readonly RefusalCode[]
  /** Checks what single parameters cannot. */
  check?(parameters: ValuesOf<P>): Refusal | undefined
  /** Those that the answer is made from. */
  datasets(parameters: ValuesOf<P>): readonly string[]
  read(query: DataQuery<ValuesOf<P>>): Promise<DataResult | Refusal>
}

export function dataRoute<P extends Parameters>(
  ctx: Context,
  definition: DataRouteDefinition<P>,
): Route {
  const { data, totals, paged, csv, read, datasets, parameters, check, refusals, ...facts } =
    definition
  const questionOf = (input: Asked<P>): Question => {
    const { format } = input.parameters as { readonly format?: 'json' | 'csv' }
    const representation = csv !== undefined && wantsCsv(input, format) ? 'csv' : 'json'
    return { operationId: facts.operationId, parameters: input.question, representation }
  }
  const shown = digestOf(ctx.ecosystem)
  const etagOf = (question: Question, { revision }: RegisterState) =>
    weakEtag([...Object.values(question), shown, revision].join(' '))
  return defineRoute({
    ...facts,
    method: 'GET',
    metered: true,
    csv: csv !== undefined,
    parameters: { ...parameters, ...(csv && { format: formatParameter }) },
    answers: { 200: { description: facts.summary, schema: bodySchema(definition) } },
    refusals: [...(refusals ?? []), 'data_not_ready'],
    async etag(input) {
      const state = await answersOf(ctx).state()
      if (state === undefined || state.status.otherParts.length > 0) return undefined
      return etagOf(questionOf(input), state)
    },
    check: (input) => check?.(input.parameters as ValuesOf<P>),
    handle(input) {
      const asked = input.parameters as ValuesOf<P>
      const question = questionOf(input)
      const asCsv = question.representation === 'csv'
      return answersOf(ctx).answer(question, async (state, connection) => {
        const { chain } = asked as { readonly chain?: Chain }
        const { status } = state
        const missing = notReadYet(status, { datasets: datasets(asked), chain })
        if (missing !== undefined) return missing
        const result = await read({ connection, status, parameters: asked })
        if (isRefusal(result)) return result
        const query = { ...input.effective, ...(asCsv && { format: 'csv' }) }
        const made = { state, result, path: facts.path, query, csv: asCsv ? csv : undefined }
        return { ...toAnswer(ctx, made), etag: etagOf(question, state) }
      })
    },
  })
}

function bodySchema({
  data,
  totals,
  paged,
}: Pick<DataRouteDefinition<Parameters>, 'data' | 'totals' | 'paged'>): TSchema {
  const more = { ...(paged && { page: pageSchema }), ...(totals && { totals }) }
  return Type.Object({ data, meta: metaSchemaWith(more, paged) })
}

function metaSchemaWith(more: TProperties, paged: boolean | undefined): TSchema {
  if (Object.keys(more).length === 0) return metaSchema
  const properties = { ...metaSchema.properties, ...more }
  return paged ? named('PagedMeta', properties) : Type.Object(properties)
}

/** Of settings of the file that are shown but not stored. */
function digestOf(ecosystem: Ecosystem): string {
  const { chains, tokens, service } = ecosystem
  const names = chains.map(({ name, explorerUrl }) => [name, explorerUrl])
  const facts = tokens.map(({ symbol, name, role }) => [symbol, name, role])
  const shown = [notConfigured(ecosystem), names, facts, service.publicBaseUrl]
  return createHash('sha256').update(JSON.stringify(shown)).digest('hex').slice(0, 8)
}

interface ToAnswer {
  readonly state: RegisterState
  readonly result: DataResult
  readonly path: string
  readonly query: Readonly<Record<string, Effective>>
  readonly csv: CsvForm | undefined
}

function toAnswer(ctx: Context, input: ToAnswer): Answer {
  const { state, result, query, csv } = input
  const link = linkToNext(ctx, input)
  const more = link !== undefined && { headers: { link } }
  if (csv !== undefined)
    return answer(200, toCsv(rowOf(csv, result.data), csv.rows(result.data)), {
      contentType: CSV_TYPE,
      ...more,
    })
  const meta = {
    ...buildMeta(ctx.ecosystem, state, { ...query, ...result.query }),
    ...(result.totals !== undefined && { totals: result.totals }),
    ...(result.page !== undefined && { page: result.page }),
  }
  const text = JSON.stringify({ data: result.data, meta })
  return answer(200, text, { contentType: JSON_TYPE, ...more })
}

function rowOf({ row }: CsvForm, data: unknown): TObject {
  return typeof row === 'function' ? row(data) : row
}

/** RFC 8288. The base URL is configured, never taken from a header. */
function linkToNext(
  { ecosystem }: Context,
  input: Pick<ToAnswer, 'path' | 'query' | 'result'>,
): string | undefined {
  const cursor = input.result.page?.nextCursor
  if (!cursor) return undefined
  let path = input.path
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...input.query, cursor })) {
    if (value === null) continue
    if (path.includes(`{${name}}`)) path = path.replace(`{${name}}`, String(value))
    else query.set(name, String(value))
  }
  return `<${ecosystem.service.publicBaseUrl}${path}?${query}>; rel="next"`
}
