import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type TObject, type TSchema, Type } from 'typebox'
import { TtlCache } from '#base/async.ts'
import { isRefusal, type Refusal, type RefusalCode, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import { unixNow } from '#base/time.ts'
import { type Context, oncePerContext } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { type Ecosystem, notConfigured } from '#ecosystem/ecosystem.ts'
import { type IndexStatus, judgeCondition, readIndexStatus } from '#index/status.ts'
import {
  type Answer,
  type Asked,
  answer,
  CSV_TYPE,
  defineRoute,
  type Effective,
  formatParameter,
  JSON_TYPE,
  type Parameters,
  type Route,
  toCsv,
  type ValuesOf,
  wantsCsv,
  weakEtag,
} from '#route.ts'
import { buildMeta, metaSchema, type PageMeta, pageSchema, type RegisterState } from './meta.ts'

interface DataResult {
  readonly data: unknown
  readonly totals?: unknown
  readonly page?: PageMeta
  /** Overrides `meta.query` for parameters that only the query resolves. */
  readonly query?: Readonly<Record<string, Effective>>
}

interface CsvForm {
  /** Describes a row of these data, or of any. */
  readonly row: TObject | ((data: unknown) => TObject)
  rows(data: unknown): readonly object[]
}

interface DataRouteDefinition<P extends Parameters> {
  readonly path: string
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  readonly parameters: P
  readonly data: TSchema
  readonly totals?: TSchema
  readonly paged?: boolean
  readonly csv?: CsvForm
  readonly refusals?: readonly RefusalCode[]
  check?(parameters: ValuesOf<P>): Refusal | undefined
  read(query: {
    readonly connection: Connection
    readonly status: IndexStatus
    readonly parameters: ValuesOf<P>
  }): Promise<DataResult | Refusal>
}

export function dataRoute<P extends Parameters>(
  ctx: Context,
  definition: DataRouteDefinition<P>,
): Route {
  const { data, totals, paged, csv, read, parameters, check, refusals, ...facts } = definition
  const questionOf = (input: Asked<P>): Question => {
    const { format } = input.parameters as { readonly format?: 'json' | 'csv' }
    const representation = csv !== undefined && wantsCsv(input, format) ? 'csv' : 'json'
    return { operationId: facts.operationId, parameters: input.question, representation }
  }
  const shown = hashEcosystem(ctx.ecosystem)
  const etagOf = (question: Question, { revision }: RegisterState) =>
    weakEtag([...Object.values(question), shown, revision].join(' '))
  return defineRoute({
    ...facts,
    method: 'GET',
    metered: true,
    csv: csv !== undefined,
    parameters: { ...parameters, ...(csv && { format: formatParameter }) },
    answers: { 200: { description: facts.summary, schema: bodySchema(data, definition) } },
    refusals: [...(refusals ?? []), 'data_not_ready'],
    async etag(input) {
      const state = await getAnswerCache(ctx).state()
      return state && etagOf(questionOf(input), state)
    },
    check: (input) => check?.(input.parameters as ValuesOf<P>),
    handle(input) {
      const asked = input.parameters as ValuesOf<P>
      const question = questionOf(input)
      const asCsv = question.representation === 'csv'
      return getAnswerCache(ctx).answer(question, async (state, connection) => {
        const { status } = state
        const result = await read({ connection, status, parameters: asked })
        if (isRefusal(result)) return result
        const query = { ...input.effective, ...(asCsv && { format: 'csv' }) }
        const made = { state, result, query, path: facts.path }
        const form = asCsv ? csv : undefined
        const body = form === undefined ? toJson(ctx, made) : toRows(form, result.data)
        const link = linkToNext(ctx, made)
        return answer(200, body, {
          contentType: form === undefined ? JSON_TYPE : CSV_TYPE,
          etag: etagOf(question, state),
          ...(link !== undefined && { headers: { link } }),
        })
      })
    },
  })
}

function bodySchema(
  data: TSchema,
  { totals, paged }: { readonly totals?: TSchema; readonly paged?: boolean },
): TSchema {
  if (!paged && totals === undefined) return Type.Object({ data, meta: metaSchema })
  const own = { ...(paged && { page: pageSchema }), ...(totals && { totals }) }
  const properties = { ...metaSchema.properties, ...own }
  const meta = paged ? named('PagedMeta', properties) : Type.Object(properties)
  return Type.Object({ data, meta })
}

/** A digest of settings of the file that are shown but not stored. */
function hashEcosystem(ecosystem: Ecosystem): string {
  const { chains, tokens, service } = ecosystem
  const names = chains.map(({ name, explorerUrl }) => [name, explorerUrl])
  const facts = tokens.map(({ symbol, name, role }) => [symbol, name, role])
  const shown = [notConfigured(ecosystem), names, facts, service.publicBaseUrl]
  return createHash('sha256').update(JSON.stringify(shown)).digest('hex').slice(0, 8)
}

interface Made {
  readonly state: RegisterState
  readonly result: DataResult
  readonly path: string
  readonly query: Readonly<Record<string, Effective>>
}

function toJson({ ecosystem }: Context, { state, result, query }: Made): string {
  const { data, totals, page, query: resolved } = result
  const own = { ...(totals !== undefined && { totals }), ...(page && { page }) }
  const meta = { ...buildMeta(ecosystem, state, { ...query, ...resolved }), ...own }
  return JSON.stringify({ data, meta })
}

function toRows({ row, rows }: CsvForm, data: unknown): string {
  return toCsv(typeof row === 'function' ? row(data) : row, rows(data))
}

/** RFC 8288. The base URL is configured, never taken from a header. */
function linkToNext({ ecosystem }: Context, made: Made): string | undefined {
  const cursor = made.result.page?.nextCursor
  if (!cursor) return undefined
  let { path } = made
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...made.query, cursor })) {
    if (value === null) continue
    if (path.includes(`{${name}}`)) path = path.replace(`{${name}}`, String(value))
    else query.set(name, String(value))
  }
  return `<${ecosystem.service.publicBaseUrl}${path}?${query}>; rel="next"`
}

type Outcome = Answer | Refusal

export interface Question {
  readonly operationId: string
  readonly parameters: string
  readonly representation: 'json' | 'csv' | 'text'
}

interface Kept {
  shown: string
  readonly outcome: Promise<Outcome>
}

/** The maximum age of answers, 304s and readiness reports. */
export const AGE_MAX_MS = 100

/** A series of ten years takes up to 1 MB, most answers a few KB. */
const BYTES_MAX = 64_000_000

/** Overhead per entry. */
const ENTRY_BYTES = 1_000

/** The answers of this process. PostgreSQL tells of new blocks. */
export const getAnswerCache = oncePerContext((ctx) => {
  const answers = new AnswerCache(ctx)
  ctx.register.listen?.('sexton_blocks', () => answers.forgetState())
  return answers
})

export class AnswerCache {
  readonly #ctx: Context
  readonly #answers = new LRUCache<string, Kept>({ maxSize: BYTES_MAX })
  readonly #states: TtlCache<RegisterState | undefined>
  #newest: string | undefined

  constructor(ctx: Context) {
    this.#ctx = ctx
    this.#states = new TtlCache({ clock: ctx.clock, max: 1, ttlMs: AGE_MAX_MS })
  }

  /** At most `AGE_MAX_MS` old, and never older than an answer given; undefined before the first blocks. */
  state(): Promise<RegisterState | undefined> {
    return this.#states.get('', () => this.#open(async (state) => state))
  }

  forgetState(): void {
    this.#states.forgetAll()
  }

  /** The answer to a question; `read` makes it if there is none of the present state. */
  async answer(
    question: Question,
    read: (state: RegisterState, connection: Connection) => Promise<Outcome>,
  ): Promise<Outcome> {
    const { operationId, parameters, representation } = question
    const key = `${operationId} ${representation} ${parameters}`
    const state = await this.state()
    if (state === undefined) return NOTHING_YET
    const known = this.#answers.get(key)
    if (known?.shown === shownBy(state)) return known.outcome
    const outcome = this.#open(async (own, connection) => {
      if (own === undefined) return NOTHING_YET
      kept.shown = shownBy(own)
      return read(own, connection)
    })
    const kept: Kept = { shown: shownBy(state), outcome }
    this.#answers.set(key, kept, { size: ENTRY_BYTES })
    const settle = (made?: Outcome) => {
      if (this.#answers.peek(key) !== kept) return
      if (made?.kind !== 'answer') this.#answers.delete(key)
      // A new object, or the cache would not update its size.
      else
        this.#answers.set(
          key,
          { ...kept },
          { size: ENTRY_BYTES + Buffer.byteLength(String(made.body)) },
        )
    }
    outcome.then(settle, () => settle())
    return outcome
  }

  /** Opens a snapshot and reads its state, for `work`. */
  #open<T>(
    work: (state: RegisterState | undefined, connection: Connection) => Promise<T>,
  ): Promise<T> {
    return this.#ctx.register.snapshot(async (connection) => {
      const state = await this.#read(connection)
      // No later call may see an older state than this one.
      if (state?.revision !== this.#newest) this.forgetState()
      this.#newest = state?.revision
      return work(state, connection)
    })
  }

  async #read(connection: Connection): Promise<RegisterState | undefined> {
    const status = await readIndexStatus(connection, this.#ctx.ecosystem.chains)
    if (status === undefined) return undefined
    const nowUnix = unixNow(this.#ctx.clock)
    const conditions = status.chains.map((each) => judgeCondition(each, nowUnix))
    return { status, nowUnix, revision: [status.revision, ...conditions].join('-') }
  }
}

/** The second counts, since `meta.lagSeconds` advances while the index stands still. */
function shownBy({ revision, nowUnix }: RegisterState): string {
  return `${revision} ${nowUnix}`
}

const NOTHING_YET = refuse(
  'data_not_ready',
  'The index has not read its first blocks yet; try again soon.',
  { retryAfterSeconds: 2 },
)
