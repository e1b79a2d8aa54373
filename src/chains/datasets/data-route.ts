import { createHash } from 'node:crypto'
import { type TObject, type TProperties, type TSchema, Type } from 'typebox'
import { JSON_TYPE } from '#api/http/accept.ts'
import { type Chain, type Ecosystem, notConfigured } from '#chains/ecosystem/ecosystem.ts'
import type { FileParts } from '#chains/indexer/indexed-config/file-part.ts'
import { type IndexStatus, readIndexStatus } from '#chains/indexer/status.ts'
import { isRefusal, type Refusal, type RefusalCode, refuse } from '#domain/refusal.ts'
import { FairSlots } from '#lib/mutex.ts'
import { named } from '#lib/schema.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import { CSV_TYPE, formatParameter, toCsv, wantsCsv } from '#route/csv.ts'
import type { Effective, Parameters, ValuesOf } from '#route/parameter.ts'
import { type Answer, answer, defineRoute, type Route } from '#route/route.ts'
import type { Connection, Engine } from '#store/engine.ts'
import type { AnswerCache } from './answer-cache.ts'
import { buildMeta, metaSchema, type PageMeta, pageSchema, revisionAt } from './meta.ts'
import { notReadYet } from './reindexing.ts'

/** SQLite reads one at a time; a pool has eight connections. */
const READING_MAX = 4

export interface DataDeps {
  readonly register: Engine
  readonly ecosystem: Ecosystem
  readonly clock: Clock
  readonly file: FileParts
  readonly answers: AnswerCache
}

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

interface Reader<Values> {
  datasets(parameters: Values): readonly string[]
  read(query: DataQuery<Values>): Promise<DataResult | Refusal>
}

export interface CsvForm {
  /** Describes a row of these data, or of any. */
  readonly row: TObject | ((data: unknown) => TObject)
  rows(data: unknown): readonly object[]
}

export interface DataRouteDefinition<P extends Parameters> extends Reader<ValuesOf<P>> {
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
}

export function dataRoute<P extends Parameters>(
  deps: DataDeps,
  definition: DataRouteDefinition<P>,
): Route {
  const { data, totals, paged, csv, read, datasets, parameters, check, refusals, ...facts } =
    definition
  const reading = new FairSlots(READING_MAX)
  return defineRoute({
    ...facts,
    method: 'GET',
    metered: true,
    csv: csv !== undefined,
    parameters: { ...parameters, ...(csv && { format: formatParameter }) },
    answers: { 200: { description: facts.summary, schema: bodySchema(definition) } },
    refusals: [...(refusals ?? []), 'data_not_ready'],
    async revision() {
      const state = await deps.answers.state()
      if (state === undefined || state.status.otherParts.length > 0) return undefined
      return shownRevision(deps, state.revision)
    },
    check: (input) => check?.(input.parameters as ValuesOf<P>),
    async handle(input) {
      const asked = input.parameters as ValuesOf<P> & { readonly format?: 'json' | 'csv' }
      const asCsv = csv !== undefined && wantsCsv(input, asked.format)
      const make = async () => {
        const query = { ...input.effective, ...(asCsv && { format: 'csv' }) }
        const answered = await reading.run(input.caller.bucket, () =>
          readSnapshot(deps, definition, asked),
        )
        if (isRefusal(answered)) return answered
        return toAnswer(deps, {
          ...answered,
          path: facts.path,
          query,
          csv: asCsv ? csv : undefined,
        })
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

interface SnapshotRead {
  readonly status: IndexStatus
  readonly result: DataResult
}

function readSnapshot<Values>(
  { register, ecosystem, file }: DataDeps,
  { datasets, read }: Reader<Values>,
  parameters: Values,
): Promise<SnapshotRead | Refusal> {
  return register.snapshot(async (connection) => {
    const status = await readIndexStatus(connection, ecosystem.chains, file)
    if (status === undefined) return NOTHING_YET
    const { chain } = parameters as { readonly chain?: Chain }
    const missing = notReadYet(status, file, { datasets: datasets(parameters), chain })
    if (missing !== undefined) return missing
    const result = await read({ connection, status, parameters })
    return isRefusal(result) ? result : { status, result }
  })
}

const NOTHING_YET = refuse(
  'data_not_ready',
  'The index has not read its first blocks yet; try again soon.',
  { retryAfterSeconds: 2 },
)

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

const shownBy = new WeakMap<Ecosystem, string>()

/** Covers settings of the file too, which are shown but not stored. */
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

interface ToAnswer extends SnapshotRead {
  readonly path: string
  readonly query: Readonly<Record<string, Effective>>
  readonly csv: CsvForm | undefined
}

function toAnswer(deps: DataDeps, input: ToAnswer): Answer {
  const { result, csv } = input
  const more = headOf(deps, input)
  if (csv !== undefined)
    return answer(200, toCsv(rowOf(csv, result.data), csv.rows(result.data)), {
      contentType: CSV_TYPE,
      ...more,
    })
  const meta = {
    ...metaOf(deps, input),
    ...(result.totals !== undefined && { totals: result.totals }),
    ...(result.page !== undefined && { page: result.page }),
  }
  const text = JSON.stringify({ data: result.data, meta })
  return answer(200, text, { contentType: JSON_TYPE, ...more })
}

function rowOf({ row }: CsvForm, data: unknown): TObject {
  return typeof row === 'function' ? row(data) : row
}

function headOf(deps: DataDeps, input: ToAnswer): Pick<Answer, 'revision' | 'headers'> {
  const link = linkToNext(deps, input)
  const revision = shownRevision(deps, revisionAt(input.status, unixNow(deps.clock)))
  return { revision, ...(link !== undefined && { headers: { link } }) }
}

function metaOf({ clock, ecosystem, file }: DataDeps, { status, result, query }: ToAnswer) {
  return buildMeta(status, unixNow(clock), {
    notConfigured: notConfigured(ecosystem),
    tokens: ecosystem.tokens,
    query: { ...query, ...result.query },
    file,
  })
}

/** RFC 8288. The base URL is configured, never taken from a header. */
function linkToNext(
  deps: DataDeps,
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
  return `<${deps.ecosystem.service.publicBaseUrl}${path}?${query}>; rel="next"`
}
