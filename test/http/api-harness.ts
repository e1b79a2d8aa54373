import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Type } from 'typebox'
import { secretDigest } from '#accounts/keys/key-store.ts'
import { type ApiDeps, createApi, type HttpServer } from '#api/server.ts'
import { type Clock, startOfDay } from '#base/time.ts'
import { type GuardSetting, readConfig } from '#config.ts'
import type { Context } from '#context.ts'
import { type Engine, StoreError } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import {
  answer,
  defineRoute,
  type Outcome,
  type Parameter,
  parseInteger,
  type Route,
  weakEtag,
} from '#route.ts'
import { HARNESS_ECOSYSTEM, HARNESS_MIGRATIONS } from '../callers/callers-harness.ts'
import { SILENT, testContext } from '../test-context.ts'

/** 2026-11-21T12:00:00Z */
export const NOON_MS = 1_795_262_400_000

/** The one key that the harness knows, of a wallet with a quota of five. */
export const GOOD_KEY = `svc_0123abcd_${'ab'.repeat(16)}`

/** Calls of the day by bucket, in the file of the accounts. */
export interface Counts {
  get(bucket: string): number | undefined
  set(bucket: string, calls: number): void
  clear(): void
  readonly size: number
}

/** What a test sets and sees. */
export interface State {
  readonly counts: Counts
  readonly log: string[]
  readonly errors: unknown[]
  /** What the work of `/api/thing` gives next. */
  outcome: (signal: AbortSignal) => Promise<Outcome>
  revision: string
  /** The accounts fail. */
  down: boolean
  /** Statements and transactions of the accounts so far. */
  reads: number
  /** Transactions wait for it. */
  held: Promise<void> | undefined
  revokeKey(): void
}

/** A server on real accounts with one key, an address quota of three, and settable answers. */
export interface Harness extends State {
  readonly ctx: Context
  readonly origin: string
  readonly port: number
  readonly server: HttpServer
}

export interface HarnessInput extends Partial<ApiDeps> {
  readonly clock?: Clock
  readonly anonymousQuota?: number
  /** Of requests of an address. */
  readonly guard?: GuardSetting
}

/** Starts a listening server with three routes around `metered`. */
export async function startHarness(input: HarnessInput = {}): Promise<Harness> {
  const { clock: _, anonymousQuota, guard, ...more } = input
  const { state, ctx, routes, close } = await harnessParts(input)
  const deps = { ctx, routes, pages: [], ...more }
  const server = createApi(deps)
  const port = await server.listen({ host: '127.0.0.1', port: 0 })
  const stop = async () => {
    await server.stop()
    await close()
  }
  const origin = `http://127.0.0.1:${port}`
  return Object.assign(state, { ctx: deps.ctx, server: { ...server, stop }, port, origin })
}

/** The parts of a harness, for a server that is put together elsewhere. */
export async function harnessParts({
  clock = () => NOON_MS,
  anonymousQuota = 3,
  guard = { burst: 6_000, perMinute: 3_000 },
}: HarnessInput = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-api-'))
  const file = join(folder, 'accounts.sqlite')
  const engine = openSqlite({ file, durability: 'normal' })
  await engine.migrate(HARNESS_MIGRATIONS)
  await addKey(engine)
  const beside = new DatabaseSync(file)
  const state: State = {
    counts: countsIn(beside),
    log: [],
    errors: [],
    outcome: async () => answer(200, { data: 'thing' }),
    revision: 'r1',
    down: false,
    reads: 0,
    held: undefined,
    revokeKey: () => beside.exec('update keys set revoked_unix = 1'),
  }
  const config = readConfig({}, { isTty: false })
  const { service } = HARNESS_ECOSYSTEM
  const ctx = testContext({
    accounts: watched(engine, state),
    ecosystem: {
      ...HARNESS_ECOSYSTEM,
      service: { ...service, publicBaseUrl: 'https://api.example' },
      quotas: { anonymous: anonymousQuota, free: 5, premium: 20 },
    },
    config: { ...config, guard: { ...config.guard, general: guard } },
    clock,
    logger: { ...SILENT, error: ({ err }: { readonly err: unknown }) => state.errors.push(err) },
  })
  const close = async () => {
    beside.close()
    await engine.close()
    await rm(folder, { recursive: true })
  }
  return { state, ctx, routes: harnessRoutes(state), close }
}

async function addKey(engine: Engine): Promise<void> {
  await engine.write(async (tx) => {
    await tx.run(sql`insert into wallets (wallet, active_keys) values (${WALLET}, 1)`)
    await tx.run(sql`
      insert into keys (public_id, secret_digest, wallet, created_unix)
      values ('0123abcd', ${secretDigest(GOOD_KEY)}, ${WALLET}, 1)`)
  })
}

const WALLET = '0x00000000000000000000000000000000000000aa'

/** The bucket of the key. */
export const KEYED = `wallet:${WALLET}`

function countsIn(database: DatabaseSync): Counts {
  return {
    get(bucket) {
      const row = database
        .prepare('select used + paid as calls from usage_days where bucket = ?')
        .get(bucket)
      return row === undefined ? undefined : Number(row.calls)
    },
    set(bucket, calls) {
      database
        .prepare(
          `insert into usage_days (day, bucket, used, paid, granted, quota, quota_most)
          values (?, ?, ?, 0, 0, ?, ?)`,
        )
        .run(startOfDay(NOON_MS / 1_000), bucket, calls, calls, calls)
    },
    clear: () => database.exec('delete from usage_days'),
    get size() {
      return Number(database.prepare('select count(*) as rows from usage_days').get()?.rows)
    },
  }
}

function watched(engine: Engine, state: State): Engine {
  const open = async () => {
    state.reads += 1
    await state.held
    if (state.down) throw new StoreError('the store is down')
  }
  return {
    ...engine,
    read: (statement) => open().then(() => engine.read(statement)),
    snapshot: (work) => open().then(() => engine.snapshot(work)),
    write: (work) => open().then(() => engine.write(work)),
  }
}

const limit: Parameter<number> = {
  in: 'query',
  description: 'Rows',
  schema: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  parse: (raw) => parseInteger(raw ?? '20', { minimum: 1, maximum: 100 }),
}

const name: Parameter<string> = {
  in: 'path',
  description: 'A name',
  schema: Type.String(),
  parse: (raw) => ({ ok: true, value: raw ?? '', effective: raw ?? '' }),
}

function harnessRoutes(state: State): readonly Route[] {
  const facts = { tag: 'Test', description: 'For tests', refusals: [] }
  const thing = Type.Object({ data: Type.String() })
  const routes = [
    defineRoute({
      ...facts,
      method: 'GET',
      path: '/api/thing',
      operationId: 'getThing',
      summary: 'A thing',
      metered: true,
      parameters: { limit },
      answers: { 200: { description: 'A thing', schema: thing } },
      etag: async ({ question }) => {
        state.log.push('etag')
        return weakEtag(state.revision + question)
      },
      async handle({ call: { signal }, question }) {
        state.log.push('work')
        const outcome = await state.outcome(signal)
        const etag = weakEtag(state.revision + question)
        return outcome.kind === 'answer' ? { ...outcome, etag } : outcome
      },
    }),
    defineRoute({
      ...facts,
      method: 'GET',
      path: '/api/thing/{name}',
      operationId: 'getNamedThing',
      summary: 'A named thing',
      metered: true,
      parameters: { name },
      answers: { 200: { description: 'A thing', schema: thing } },
      handle: async (input) => answer(200, { data: input.parameters.name }),
    }),
    defineRoute({
      ...facts,
      method: 'POST',
      path: '/api/echo',
      operationId: 'postEcho',
      summary: 'Echo',
      metered: false,
      parameters: {},
      body: Type.Object({
        text: Type.String(),
        inner: Type.Optional(Type.Object({ known: Type.Number() })),
      }),
      answers: { 201: { description: 'An echo', schema: thing } },
      handle: async (input) => answer(201, { data: input.body.text }),
    }),
  ]
  return routes.map((route) => ({
    ...route,
    prepare(raw) {
      state.log.push('parse')
      return route.prepare(raw)
    },
  }))
}
