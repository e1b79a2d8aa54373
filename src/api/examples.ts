import { once } from 'node:events'
import type { Static, TSchema } from 'typebox'
import captured from '#api/examples.json' with { type: 'json' }
import type { ServiceFacts } from '#api/meta-route.ts'
import { isRefusal, type Refusal, type RefusalCode } from '#base/refusal.ts'
import type { metaSchema } from '#data/meta.ts'
import type { Route } from '#route.ts'

/** Short examples keep the page readable: two rows show a list as well as twenty. */
const SHORT: Readonly<Record<string, string>> = { limit: '2', period: '2d' }

/** Answers by operation and status, as in the OpenAPI document. */
export type Examples = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** The document must be served even while a store hangs. */
const TIMEOUT_MS = 1_000

/** Returns this service's current answers, for the routes that can give one in time. */
export async function liveExamples(routes: readonly Route[]): Promise<Examples> {
  const answers: Record<string, Record<string, unknown>> = {}
  const late = AbortSignal.timeout(TIMEOUT_MS)
  await Promise.race([askAll(routes, answers, late), once(late, 'abort')])
  return { ...answers }
}

/** Calls one route after the other until the signal aborts. */
async function askAll(
  routes: readonly Route[],
  answers: Record<string, Record<string, unknown>>,
  signal: AbortSignal,
): Promise<void> {
  const ask = askRoutes(routes)
  const address = await someWallet(ask)
  for (const { operationId, method, metered, open, stream, parameters } of routes) {
    if (method !== 'GET' || stream === true || !(metered || open === true)) continue
    if (signal.aborted) return
    const names = Object.keys(parameters)
    const query = Object.fromEntries(Object.entries(SHORT).filter(([name]) => names.includes(name)))
    const path = names.includes('address') ? { address } : {}
    const answer = await ask(operationId, query, path).catch(() => undefined)
    if (answer !== undefined) answers[operationId] = { 200: answer }
  }
}

/** Prefers a wallet with claims, because any other shows only zeros. */
async function someWallet(ask: Ask): Promise<string> {
  const nobody = '0x0000000000000000000000000000000000000001'
  try {
    const { data } = (await ask('listPayouts', { limit: '20' })) as {
      readonly data: readonly { readonly recipient: string | null }[]
    }
    return data.find(({ recipient }) => recipient !== null)?.recipient ?? nobody
  } catch {
    return nobody
  }
}

/** Written by `tools/capture-examples.ts` from a running service. */
interface Captured {
  /** Texts of the captured service, replaced by this one's. */
  readonly names: Readonly<Record<string, string>>
  readonly requests: Readonly<Record<string, unknown>>
  readonly answers: Examples
  readonly problems: Readonly<Partial<Record<RefusalCode, unknown>>>
}

/** Bodies of keys, payments, usage and problems, with the URL, name, keys and payee of this service. */
export function capturedExamples(
  facts: Pick<ServiceFacts, 'name' | 'publicBaseUrl' | 'keyPrefix' | 'payment'>,
): Omit<Captured, 'names'> {
  const { names, ...rest } = captured as Captured
  const own: Readonly<Record<string, string | undefined>> = {
    publicBaseUrl: facts.publicBaseUrl,
    service: `${facts.name}: `,
    keyPrefix: `${facts.keyPrefix}_`,
    asset: facts.payment?.asset,
    payTo: facts.payment?.payTo,
  }
  let text = JSON.stringify(rest)
  for (const [name, theirs] of Object.entries(names))
    text = text.replaceAll(theirs, () => JSON.stringify(own[name] ?? theirs).slice(1, -1))
  return JSON.parse(text)
}

/** Calls a route of this server without charge, for documents that are the same for everyone. */
export type Ask = (
  operationId: string,
  query?: Readonly<Record<string, string>>,
  path?: Readonly<Record<string, string>>,
) => Promise<unknown>

/** What a route of data answers. */
export interface Reply<Data extends TSchema> {
  readonly data: Static<Data>
  readonly meta: Static<typeof metaSchema>
}

/** Wraps a route's refusal, so that a document built from many answers fails as a whole. */
export class AskRefused extends Error {
  override name = 'AskRefused'
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

/** Charts and figures belong to no caller, and no route used through `Ask` reads it. */
const NOBODY = {
  kind: 'anonymous',
  identity: 'ip:none',
  bucket: 'none',
  tier: 'anonymous',
  dailyQuota: 0,
} as const

/** The returned function throws AskRefused, and what the route throws. */
export function askRoutes(routes: readonly Route[]): Ask {
  const byName = new Map(routes.map((route) => [route.operationId, route]))
  return async (operationId, query = {}, path = {}) => {
    const route = byName.get(operationId)
    if (route === undefined) throw new Error(`no route ${operationId}`)
    const given = new Map(Object.entries(query).map(([name, value]) => [name, [value]]))
    const prepared = route.prepare({ query: given, path, body: undefined })
    if (isRefusal(prepared)) throw new AskRefused(prepared)
    const refused = await prepared.check?.({ headers: {} })
    if (refused !== undefined) throw new AskRefused(refused)
    const asked = {
      requestId: '',
      headers: { accept: 'application/json' },
      target: route.path,
      addressBucket: 'none',
      signal: new AbortController().signal,
    }
    const outcome = await prepared.run(asked, NOBODY)
    if (isRefusal(outcome)) throw new AskRefused(outcome)
    if (outcome.kind !== 'answer') throw new Error(`${operationId} asks for a payment`)
    return typeof outcome.body === 'string' ? JSON.parse(outcome.body) : outcome.body
  }
}
