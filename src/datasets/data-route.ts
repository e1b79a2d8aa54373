import { createHash } from 'node:crypto'
import type { TObject, TSchema } from 'typebox'
import { isRefusal, type Refusal, type RefusalCode, refuse } from '#domain/refusal.ts'
import { type Chain, type Ecosystem, notConfigured } from '#ecosystem/ecosystem.ts'
import type { FileParts } from '#indexer/adopted-file/file-part.ts'
import { type IndexStatus, readIndexStatus } from '#indexer/status.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import { named, Type } from '#lib/type.ts'
import { CSV_TYPE, formatParameter, toCsv, wantsCsv } from '#route/csv.ts'
import type { Effective, Parameters, ValuesOf } from '#route/parameter.ts'
import { type Answer, answer, defineRoute, type Route } from '#route/route.ts'
import type { Connection, Engine } from '#store/engine.ts'
import type { AnswerCache } from './answer-cache.ts'
import { buildMeta, metaSchema, type Page, pageSchema, revisionAt } from './meta.ts'
import { notReadYet } from './rereading.ts'

export interface DataDeps {
  readonly register: Engine
  readonly ecosystem: Ecosystem
  readonly clock: Clock
  readonly file: FileParts
  readonly answers: AnswerCache
}

export interface DataQuery<P extends Parameters> {
  readonly connection: Connection
  readonly status: IndexStatus
  readonly parameters: ValuesOf<P>
}

export interface DataResult {
  readonly data: unknown
  readonly totals?: unknown
  readonly page?: Page
  /** Overrides `meta.query` for parameters that only the query resolves. */
  readonly query?: Readonly<Record<string, Effective>>
}

export interface CsvForm {
  readonly row: TObject
  rows(data: unknown): readonly object[]
}

export interface DataRouteDefinition<P extends Parameters> {
  readonly path: string
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  readonly parameters: P
  datasets(parameters: ValuesOf<P>): readonly string[]
  readonly data: TSchema
  readonly totals?: TSchema
  readonly paged?: boolean
  /** For series and lists. */
  readonly csv?: CsvForm
  readonly refusals?: readonly RefusalCode[]
  read(query: DataQuery<P>): Promise<DataResult | Refusal>
}

export function dataRoute<P extends Parameters>(
  deps: DataDeps,
  definition: DataRouteDefinition<P>,
): Route {
  const {
    data,
    totals,
    paged,
    csv,
    read,
    datasets,
    parameters,
    refusals = [],
    ...facts
  } = definition
  const format = csv === undefined ? {} : { format: formatParameter }
  const given: Parameters = { ...parameters, ...format }
  return defineRoute({
    ...facts,
    method: 'GET',
    metered: true,
    csv: csv !== undefined,
    parameters: given,
    answers: { 200: { description: facts.summary, schema: bodySchema(definition) } },
    refusals: [...refusals, 'data_not_ready'],
    async revision() {
      const state = await deps.answers.state()
      if (state === undefined || state.status.otherParts.length > 0) return undefined
      return shownRevision(deps, state.revision)
    },
    async handle(input) {
      const asked = input.parameters as ValuesOf<P> & { readonly format?: 'json' | 'csv' }
      const asCsv = csv !== undefined && wantsCsv(input, asked.format)
      const make = async () => {
        const query = { ...input.effective, ...(asCsv && { format: 'csv' }) }
        const result = await readSnapshot(deps, definition, asked)
        if (isRefusal(result)) return result
        return toAnswer(deps, { ...result, path: facts.path, query, csv: asCsv ? csv : undefined })
      }
      const state = await deps.answers.state()
      if (state === undefined) return make()
      const question = {
        operationId: facts.operationId,
        parameters: input.question,
        representation: asCsv ? 'csv' : 'json',
      } as const
      return deps.answers.get(question, state, make)
    },
  })
}

function bodySchema(
  definition: Pick<DataRouteDefinition<Parameters>, 'data' | 'totals' | 'paged'>,
): TSchema {
  return Type.Object({ data: definition.data, meta: metaSchemaOf(definition) })
}

function metaSchemaOf({
  totals,
  paged,
}: Pick<DataRouteDefinition<Parameters>, 'totals' | 'paged'>): TSchema {
  const { properties } = metaSchema
  if (paged) return named('PagedMeta', { ...properties, page: pageSchema })
  return totals === undefined ? metaSchema : Type.Object({ ...properties, totals })
}

const shownBy = new WeakMap<Ecosystem, string>()

/** Also covers settings of the file that are shown but not stored. */
function shownRevision({ ecosystem }: DataDeps, revision: string): string {
  const shown = shownBy.get(ecosystem) ?? digestOf(ecosystem)
  shownBy.set(ecosystem, shown)
  return `${shown}-${revision}`
}

function digestOf(ecosystem: Ecosystem): string {
  const { chains, tokens, service } = ecosystem
  const names = chains.map(({ name, explorerUrl }) => [name, explorerUrl])
  const facts = tokens.map(({ symbol, name, role }) => [symbol, name, role])
  const shown = [notConfigured(ecosystem), names, facts, service.publicBaseUrl]
  return createHash('sha256').update(JSON.stringify(shown)).digest('hex').slice(0, 8)
}

async function readSnapshot<P extends Parameters>(
  deps: DataDeps,
  { read, datasets }: Pick<DataRouteDefinition<P>, 'read' | 'datasets'>,
  parameters: ValuesOf<P>,
): Promise<{ readonly status: IndexStatus; readonly result: DataResult } | Refusal> {
  return deps.register.snapshot(async (connection) => {
    const status = await readIndexStatus(connection, deps.ecosystem.chains, deps.file)
    if (status === undefined)
      return refuse(
        'data_not_ready',
        'The index has not read its first blocks yet; try again soon.',
        {
          retryAfterSeconds: 2,
        },
      )
    const { chain } = parameters as { readonly chain?: Chain }
    const missing = notReadYet(status, deps.file, { datasets: datasets(parameters), chain })
    if (missing !== undefined) return missing
    const result = await read({ connection, status, parameters })
    return isRefusal(result) ? result : { status, result }
  })
}

function toAnswer(
  deps: DataDeps,
  input: {
    readonly status: IndexStatus
    readonly result: DataResult
    readonly path: string
    readonly query: Readonly<Record<string, Effective>>
    readonly csv: CsvForm | undefined
  },
): Answer {
  const { status, result } = input
  const nowUnix = unixNow(deps.clock)
  const revision = shownRevision(deps, revisionAt(status, nowUnix))
  const link = linkToNext(deps, input)
  const headers = link === undefined ? {} : { headers: { link } }
  if (input.csv !== undefined)
    return answer(200, toCsv(input.csv.row, input.csv.rows(result.data)), {
      contentType: CSV_TYPE,
      revision,
      ...headers,
    })
  const meta = {
    ...buildMeta(status, nowUnix, {
      notConfigured: notConfigured(deps.ecosystem),
      query: { ...input.query, ...result.query },
      file: deps.file,
    }),
    ...(result.totals !== undefined && { totals: result.totals }),
    ...(result.page !== undefined && { page: result.page }),
  }
  const text = JSON.stringify({ data: result.data, meta })
  return answer(200, text, { contentType: JSON_TYPE, revision, ...headers })
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** RFC 8288. The base URL is configured, never taken from a header. */
function linkToNext(
  deps: DataDeps,
  input: {
    readonly path: string
    readonly query: Readonly<Record<string, Effective>>
    readonly result: DataResult
  },
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
  return `<${deps.ecosystem.service.publicBaseUrl}${path}?${query}>; rel="next"`
}
