import type { IncomingHttpHeaders } from 'node:http'
import { Type } from 'typebox'
import {
  type Meter,
  MeteringUnavailable,
  type MeterState,
} from '#accounts/metering/meter/admission.ts'
import { weakEtag } from '#api/http/etag.ts'
import { type ApiDeps, createApi, type HttpServer } from '#api/server.ts'
import localEcosystem from '#chains/ecosystem/ecosystems/local.ts'
import { parseEcosystem } from '#chains/ecosystem/load-ecosystem.ts'
import type { Caller } from '#domain/caller.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { type Clock, nextMidnight } from '#lib/time.ts'
import { type Parameter, parseInteger } from '#route/parameter.ts'
import {
  answer,
  defineRoute,
  type Outcome,
  type PaymentRequired,
  type Route,
} from '#route/route.ts'
import { SILENT, testContext } from '../test-context.ts'

/** 2026-11-21T12:00:00Z */
export const NOON_MS = 1_795_262_400_000

/** The one key that the harness knows, of a wallet with a quota of five. */
export const GOOD_KEY = `svc_0123abcd_${'ab'.repeat(16)}`

export const PAYMENT_BODY = { x402Version: 1, error: 'payment_required', accepts: [] }

/** A world small enough to see through: a meter in memory, one key, settable answers. */
export interface Harness {
  readonly origin: string
  readonly port: number
  readonly server: HttpServer
  readonly counts: Map<string, number>
  readonly log: string[]
  readonly errors: unknown[]
  /** What the work of `/api/thing` gives next. */
  outcome: (signal: AbortSignal) => Promise<Outcome>
  revision: string
  down: boolean
  limited: boolean
}

/** Starts a listening server with three routes around `metered`. */
export async function startHarness({
  clock = () => NOON_MS,
  ...more
}: Partial<ApiDeps> & { readonly clock?: Clock } = {}): Promise<Harness> {
  const { state, routes, deps } = harnessParts()
  const { service, ...file } = localEcosystem
  const server = createApi({
    ...deps,
    ctx: testContext({
      ecosystem: parseEcosystem('local', {
        ...file,
        service: { ...service, publicBaseUrl: 'https://api.example' },
      }),
      clock,
      logger: { ...SILENT, error: ({ err }: { readonly err: unknown }) => state.errors.push(err) },
    }),
    routes,
    pages: [],
    ...more,
  })
  const port = await server.listen({ host: '127.0.0.1', port: 0 })
  return Object.assign(state, { server, port, origin: `http://127.0.0.1:${port}` })
}

/** The parts of a harness, for a server that is put together elsewhere. */
export function harnessParts() {
  const state = {
    counts: new Map<string, number>(),
    log: [] as string[],
    errors: [] as unknown[],
    outcome: async (_signal: AbortSignal): Promise<Outcome> => answer(200, { data: 'thing' }),
    revision: 'r1',
    down: false,
    limited: false,
  }
  return { state, routes: harnessRoutes(state), deps: harnessDeps(state) }
}

function harnessDeps(state: State) {
  return {
    meter: memoryMeter(state),
    addressBucket: (address: string) => address,
    identify: async (headers: IncomingHttpHeaders) => {
      state.log.push('identify')
      return headers.authorization === `Bearer ${GOOD_KEY}` ? keyed : badKey
    },
    anonymous,
    guard: () => {
      state.log.push('guard')
      return state.limited ? refuse('rate_limited', 'slower', { retryAfterSeconds: 7 }) : undefined
    },
    paymentRequired: (): PaymentRequired => ({ kind: 'payment-required', body: PAYMENT_BODY }),
  }
}

const badKey: Refusal = refuse('invalid_api_key', 'the API key is not valid')

const keyed: Caller = {
  kind: 'keyed',
  identity: 'key:svc_0123abcd',
  bucket: 'wallet:0x00000000000000000000000000000000000000aa',
  tier: 'free',
  dailyQuota: 5,
  publicId: '0123abcd',
  wallet: '0x00000000000000000000000000000000000000aa',
}

function anonymous(bucket: string): Caller {
  return {
    kind: 'anonymous',
    identity: `ip:${bucket}`,
    bucket,
    tier: 'anonymous',
    dailyQuota: 3,
  }
}

type State = Pick<Harness, 'counts' | 'log' | 'down' | 'limited' | 'outcome' | 'revision'>

function memoryMeter(state: State): Meter {
  const rateLimit = (caller: Caller): MeterState => {
    const used = state.counts.get(caller.bucket) ?? 0
    return {
      tier: caller.tier,
      dailyQuota: caller.dailyQuota,
      requestCount: used,
      overageCount: 0,
      remaining: caller.dailyQuota - used,
      resetUnix: nextMidnight(NOON_MS / 1000),
      prepaidBalance: 0n,
      ...(used >= caller.dailyQuota && { refused: { kind: 'exhausted' } }),
    }
  }
  const refused = new Set<string>()
  const check = () => {
    if (state.down) throw new MeteringUnavailable('the store is down')
  }
  return {
    async admit(caller) {
      state.log.push('admit')
      check()
      const used = state.counts.get(caller.bucket) ?? 0
      if (used >= caller.dailyQuota) {
        refused.add(caller.bucket)
        return { kind: 'exhausted', rateLimit: rateLimit(caller) }
      }
      state.counts.set(caller.bucket, used + 1)
      return { kind: 'admitted', source: 'quota', rateLimit: rateLimit(caller) }
    },
    async rateLimit(caller) {
      check()
      return rateLimit(caller)
    },
    wasRefused: ({ bucket }) => refused.has(bucket),
    waiting: () => 0,
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
  return [
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
      async handle({ signal, question }) {
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
}
