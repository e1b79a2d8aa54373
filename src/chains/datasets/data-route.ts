import { createHash } from 'node:crypto'
import type { TObject, TProperties, TSchema } from 'typebox'
import { type Ecosystem, notConfigured } from '#chains/ecosystem/ecosystem.ts'
import { digestOfUnknown, type IndexStatus } from '#chains/indexer/status.ts'
import { isRefusal, type Refusal, type RefusalCode, refuse } from '#domain/refusal.ts'
import { unixNow } from '#lib/time.ts'
import { named, Type } from '#lib/type.ts'
import { CSV_TYPE, formatParameter, toCsv, wantsCsv } from '#route/csv.ts'
import type { Effective, Parameters, ValuesOf } from '#route/parameter.ts'
import { type Answer, answer, defineRoute, type Route } from '#route/route.ts'
import { JSON_TYPE } from '#serving/http/accept.ts'
import type { AnswerCache } from './answer-cache.ts'
import {
  asOfMetaSchema,
  buildAsOfMeta,
  buildMeta,
  metaSchema,
  pageSchema,
  revisionAt,
} from './meta.ts'
import {
  asOfBlockParameter,
  asOfUnixParameter,
  finalityParameter,
  type NamedBlock,
} from './parameters.ts'
import {
  type PointInTime,
  type ReadDeps,
  type Reader,
  type SnapshotRead,
  SnapshotReader,
} from './snapshot-reader.ts'

export interface DataDeps extends ReadDeps {
  readonly answers: AnswerCache
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
  /** Takes `asOfBlock` and `asOfUnix`. */
  readonly asOf?: true
  /** Set for series and lists. */
  readonly csv?: CsvForm
  readonly refusals?: readonly RefusalCode[]
  /** Checks what single parameters cannot. */
  check?(parameters: ValuesOf<P>, point: PointInTime): Refusal | undefined
}

export function dataRoute<P extends Parameters>(
  deps: DataDeps,
  definition: DataRouteDefinition<P>,
): Route {
  const {
    data,
    totals,
    paged,
    asOf,
    csv,
    read,
    datasets,
    parameters,
    check,
    refusals = [],
    ...facts
  } = definition
  const reader = new SnapshotReader(deps, { read, datasets })
  return defineRoute({
    ...facts,
    method: 'GET',
    metered: true,
    csv: csv !== undefined,
    parameters: parametersOf(deps, definition),
    answers: { 200: { description: facts.summary, schema: bodySchema(definition) } },
    refusals: [...refusals, 'data_not_ready'],
    async revision(effective) {
      const state = await deps.answers.state()
      if (state === undefined || state.status.otherParts.length > 0) return undefined
      // Only final answers have such an ETag.
      if ('asOfBlock' in effective || 'asOfUnix' in effective)
        return { text: lastingRevision(deps, state.status), cacheControl: IMMUTABLE }
      return { text: shownRevision(deps, state.revision) }
    },
    check(input) {
      const asked = input.parameters as ValuesOf<P> & Common
      const mixed = refuseMixed(asked)
      if (mixed !== undefined) return mixed
      const point = pointOf(asked)
      const wrong = check?.(asked, point)
      if (wrong !== undefined || typeof point === 'string') return wrong
      const recent = async () => (await deps.answers.state())?.status
      return import('./as-of/find-blocks.ts').then((asOf) => asOf.checkAsOf(deps, point, recent))
    },
    async handle(input) {
      const asked = input.parameters as ValuesOf<P> & Common
      const point = pointOf(asked)
      const asCsv = csv !== undefined && wantsCsv(input, asked.format)
      const make = async () => {
        const query = { ...input.effective, ...(asCsv && { format: 'csv' }) }
        const read = await reader.read(asked, point, input.caller.bucket)
        if (isRefusal(read)) return read
        return toAnswer(deps, { ...read, path: facts.path, query, csv: asCsv ? csv : undefined })
      }
      const state = await deps.answers.state()
      if (state === undefined) return make()
      const question = {
        operationId: facts.operationId,
        parameters: input.question,
        representation: asCsv ? 'csv' : 'json',
      } as const
      if (typeof point === 'string') return deps.answers.get(question, state, make)
      return deps.answers.getLasting(question, lastingRevision(deps, state.status), make)
    },
  })
}

interface PointParameters {
  readonly asOfBlock?: readonly NamedBlock[]
  readonly asOfUnix?: number
  readonly finality?: 'latest' | 'finalized'
}

/** A question names one point in time. */
export function refuseMixed(parameters: PointParameters): Refusal | undefined {
  const { asOfBlock, asOfUnix, finality } = parameters
  if (asOfBlock === undefined && asOfUnix === undefined) return undefined
  const points = {
    ...(asOfBlock && { asOfBlock }),
    ...(asOfUnix !== undefined && { asOfUnix }),
    ...(finality === 'finalized' && { finality }),
  }
  const [name = '', ...others] = Object.keys(points)
  if (others.length === 0) return undefined
  const reason = `cannot be combined with ${others.join(' and ')}`
  const errors = [{ in: 'query', name, reason } as const]
  return refuse('invalid_parameter', `${name} ${reason}`, { errors })
}

export function pointOf({
  asOfBlock,
  asOfUnix,
  finality = 'latest',
}: PointParameters): PointInTime {
  if (asOfBlock !== undefined) return { kind: 'blocks', named: asOfBlock }
  return asOfUnix === undefined ? finality : { kind: 'moment', unix: asOfUnix }
}

interface Common extends PointParameters {
  readonly format?: 'json' | 'csv'
}

function parametersOf(
  { ecosystem }: DataDeps,
  { parameters, asOf, csv }: Pick<DataRouteDefinition<Parameters>, 'parameters' | 'asOf' | 'csv'>,
): Parameters {
  return {
    ...parameters,
    ...(asOf && { asOfBlock: asOfBlockParameter(ecosystem), asOfUnix: asOfUnixParameter }),
    finality: finalityParameter,
    ...(csv && { format: formatParameter }),
  }
}

type BodyParts = Pick<DataRouteDefinition<Parameters>, 'data' | 'totals' | 'paged' | 'asOf'>

function bodySchema(definition: BodyParts): TSchema {
  return Type.Object({ data: definition.data, meta: metaSchemaOf(definition) })
}

function metaSchemaOf({ totals, paged, asOf }: BodyParts): TSchema {
  const more = { ...(paged && { page: pageSchema }), ...(totals && { totals }) }
  const meta = withMore(metaSchema, more, paged ? 'PagedMeta' : undefined)
  if (asOf === undefined) return meta
  return Type.Union([meta, withMore(asOfMetaSchema, more, paged ? 'PagedAsOfMeta' : undefined)])
}

function withMore(schema: TObject, more: TProperties, title: string | undefined): TSchema {
  if (Object.keys(more).length === 0) return schema
  const properties = { ...schema.properties, ...more }
  return title === undefined ? Type.Object(properties) : named(title, properties)
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

/**
 * The revision of final answers as of blocks. It changes only with the file, where a chain is read
 * again, or with what is unknown.
 */
function lastingRevision(deps: DataDeps, { chains, unknown }: IndexStatus): string {
  const times = chains.map(({ timesForgotten }) => timesForgotten)
  const parts = ['final', deps.file.digest.slice(0, 16), ...times, ...digestOfUnknown(unknown)]
  return shownRevision(deps, parts.join('-'))
}

const IMMUTABLE = 'private, max-age=31536000, immutable'

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
  const { status, resolved } = input
  const isFinal = resolved?.isFinal === true
  const link = linkToNext(deps, input)
  const headers = {
    ...(isFinal && { 'Cache-Control': IMMUTABLE }),
    ...(link !== undefined && { link }),
  }
  const revision = isFinal
    ? lastingRevision(deps, status)
    : shownRevision(deps, revisionAt(status, unixNow(deps.clock)))
  return { revision, ...(Object.keys(headers).length > 0 && { headers }) }
}

function metaOf(deps: DataDeps, { status, resolved, result, ...input }: ToAnswer) {
  const query = { ...input.query, ...result.query }
  if (resolved !== undefined) return buildAsOfMeta(resolved.asOfUnix, resolved.blocks, query)
  return buildMeta(status, unixNow(deps.clock), {
    notConfigured: notConfigured(deps.ecosystem),
    tokens: deps.ecosystem.tokens,
    query,
    file: deps.file,
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
