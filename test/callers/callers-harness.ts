import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { callerTables } from '#accounts/keys/caller-tables.ts'
import { type Action, buildMessage, type MessageValues } from '#accounts/keys/message.ts'
import { ledgerChecks } from '#accounts/ledger/check.ts'
import { chainInAccount, keyAccount, post } from '#accounts/ledger/ledger.ts'
import { ledgerTables } from '#accounts/ledger/ledger-tables.ts'
import { callerChecks } from '#accounts/metering/caller-checks.ts'
import { callerRoutes } from '#accounts/metering/caller-routes.ts'
import { anonymousCaller, identifyCaller } from '#accounts/metering/callers.ts'
import { type Admission, getMeter, type Meter } from '#accounts/metering/meter/meter.ts'
import type { Caller } from '#base/caller.ts'
import { isRefusal, type Refusal } from '#base/refusal.ts'
import { DEFAULT_QUOTAS } from '#base/tier.ts'
import { toIso, unixNow } from '#base/time.ts'
import { readConfig } from '#config.ts'
import type { Context } from '#context.ts'
import type { Engine } from '#db/engine.ts'
import { firstSchema } from '#db/migrate.ts'
import localEcosystem from '#devnet/local-ecosystem.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import type { Outcome, RequestHeaders, Route } from '#route.ts'
import type { EngineTest, OpenStore } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'
import { testCall } from '../test-call.ts'

export const HARNESS_MIGRATIONS = firstSchema('accounts', [...ledgerTables, ...callerTables])
/** Without premium and a gate, so that no key needs a register. */
export const HARNESS_ECOSYSTEM: Ecosystem = {
  ...parseEcosystem('local', localEcosystem),
  quotas: { ...DEFAULT_QUOTAS, anonymous: 5, free: 10, premium: 20 },
  premium: null,
  gate: 'open',
}
export const CHAIN_ID = 8453
const ADDRESS = '192.0.2.1'
const WIDE = { burst: 6_000, perMinute: 3_000 }
const START_MS = Date.UTC(2026, 10, 21, 12)

export type Admitted = Extract<Admission, { kind: 'admitted' }>

/** Callers on a real store, with a clock that a test sets. */
export interface Harness {
  readonly metering: RoutedMetering
  readonly engine: Engine
  readonly now: { ms: number }
  sign(wallet: PrivateKeyAccount, action: Action, values?: MessageValues): Promise<SignedBody>
  call(path: string, input?: Call): Promise<Outcome>
  /** A new wallet's key. */
  mint(wallet?: PrivateKeyAccount): Promise<Minted>
  /** By the key itself; throws when it is refused. */
  revoke(key: Secret): Promise<void>
  /** By the key itself; throws when it is refused. */
  rotate(key: Secret): Promise<Secret>
  isUsable(secret: string): Promise<boolean>
  fund(publicId: string, microUsd: bigint): Promise<void>
  /** So many calls one after another, of an address without a secret; charges of those admitted. */
  admit(secret: string | undefined, times: number): Promise<readonly Admitted[]>
}

export interface RoutedMetering {
  readonly ctx: Context
  readonly meter: Meter
  identify(headers: RequestHeaders, bucket: string): Promise<Caller | Refusal>
  anonymous(bucket: string): Caller
  readonly routes: readonly Route[]
}

export type SignedBody = {
  readonly ownerAddress: string
  readonly signature: string
  readonly message: string
}

export interface Secret {
  readonly publicId: string
  readonly secret: string
}

export interface Minted extends Secret {
  readonly wallet: PrivateKeyAccount
}

/** What a mint and a rotation show. */
export interface Shown {
  readonly key: Readonly<Record<string, unknown>>
  readonly secret: string
}

interface Call {
  readonly method?: 'GET' | 'POST'
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly headers?: RequestHeaders
}

export function newWallet(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey())
}

export function bearer(secret: string): { readonly headers: RequestHeaders } {
  return { headers: { authorization: `Bearer ${secret}` } }
}

/** The body of a good answer; throws on a refusal. */
export function bodyOf<T>(outcome: Outcome): T {
  if (outcome.kind !== 'answer') throw new Error(`no answer but ${JSON.stringify(outcome)}`)
  return outcome.body as T
}

/** The code of a refusal, or the status of an answer. */
export function codeOf(outcome: Outcome): string | number {
  if (outcome.kind === 'answer') return outcome.status
  return outcome.kind === 'refusal' ? outcome.code : outcome.kind
}

export type CallersTest = (
  guarantee: string,
  work: (harness: Harness, store: OpenStore) => Promise<void>,
) => void

/** Tests with a harness each, after which every promise of ledger and callers must hold. */
export function audited(onEngines: EngineTest): CallersTest {
  return (guarantee, work) =>
    onEngines(guarantee, async (store) => {
      await work(createHarness(store.engine), store)
      await assertSound(store.engine)
    })
}

/** Every promise of ledger and callers holds. */
export async function assertSound(engine: Engine): Promise<void> {
  for (const check of [...ledgerChecks, ...callerChecks])
    assert.deepEqual(await engine.snapshot(check.run), [], check.name)
}

/** Revoked keys are noted here. */
const folder = mkdtempSync(join(tmpdir(), 'sexton-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

export function createHarness(engine: Engine, more: Partial<Context> = {}): Harness {
  const now = { ms: START_MS }
  const ctx = testContext({
    accounts: engine,
    ecosystem: HARNESS_ECOSYSTEM,
    config: {
      ...readConfig({ SEXTON_DATA: folder }, { isTty: false }),
      guard: { general: WIDE, mint: WIDE, claim: WIDE },
    },
    clock: () => now.ms,
    ...more,
  })
  const metering: RoutedMetering = {
    ctx,
    meter: getMeter(ctx),
    identify: (headers, bucket) => identifyCaller(ctx, headers, bucket),
    anonymous: (bucket) => anonymousCaller(ctx, bucket),
    routes: callerRoutes(ctx),
  }
  const harness: Harness = {
    metering,
    engine,
    now,
    sign: (wallet, action, values) => signMessage(wallet, action, { now, values: values ?? {} }),
    call: (path, input) => callRoute(metering, path, input ?? {}),
    async mint(wallet = newWallet()) {
      const outcome = await harness.call('/api/keys', { body: await harness.sign(wallet, 'mint') })
      now.ms += 1_000
      return { wallet, ...secretOf(outcome) }
    },
    async revoke(key) {
      bodyOf(await manage(metering, 'revoke', key))
    },
    rotate: async (key) => secretOf(await manage(metering, 'rotate', key)),
    isUsable: async (secret) =>
      (await metering.identify(bearer(secret).headers, ADDRESS)).kind === 'keyed',
    fund: (publicId, microUsd) => fund(engine, publicId, microUsd),
    admit: (secret, times) => admit(metering, secret, times),
  }
  return harness
}

function secretOf(outcome: Outcome): Secret {
  const { key, secret } = bodyOf<Shown>(outcome)
  return { publicId: String(key.publicId), secret }
}

function manage(
  metering: RoutedMetering,
  action: 'revoke' | 'rotate',
  { publicId, secret }: Secret,
) {
  const call = { path: { publicId }, method: 'POST', ...bearer(secret) } as const
  return callRoute(metering, `/api/keys/{publicId}/${action}`, call)
}

async function fund(engine: Engine, publicId: string, microUsd: bigint): Promise<void> {
  const postings = [
    { account: chainInAccount(CHAIN_ID), microUsd: -microUsd },
    { account: keyAccount(publicId), microUsd },
  ]
  const entry = { kind: 'credit', reference: publicId, createdUnix: 1, postings } as const
  await engine.write((tx) => post(tx, { ...entry, id: `fund:${publicId}` }))
}

async function admit(
  metering: RoutedMetering,
  secret: string | undefined,
  times: number,
): Promise<readonly Admitted[]> {
  const headers = secret === undefined ? {} : bearer(secret).headers
  const caller = await metering.identify(headers, ADDRESS)
  assert.ok(!isRefusal(caller))
  const admitted: Admitted[] = []
  for (let n = 0; n < times; n += 1) {
    const admission = await metering.meter.admit(caller)
    if (admission.kind === 'admitted') admitted.push(admission)
  }
  return admitted
}

async function signMessage(
  wallet: PrivateKeyAccount,
  action: Action,
  input: { readonly now: { readonly ms: number }; readonly values: MessageValues },
): Promise<SignedBody> {
  const issued = toIso(unixNow(() => input.now.ms))
  const values = { address: wallet.address, chain: String(CHAIN_ID), issued, ...input.values }
  const message = buildMessage(HARNESS_ECOSYSTEM.service.name, action, values)
  const signature = await wallet.signMessage({ message })
  return { ownerAddress: wallet.address, signature, message }
}

async function callRoute(metering: RoutedMetering, path: string, call: Call): Promise<Outcome> {
  const method = call.method ?? (call.body === undefined ? 'GET' : 'POST')
  const headers = call.headers ?? {}
  const caller = await metering.identify(headers, ADDRESS)
  if (isRefusal(caller)) return caller
  const query = new Map(Object.entries(call.query ?? {}).map(([name, value]) => [name, [value]]))
  const raw = { query, path: call.path ?? {}, body: call.body ?? {} }
  const prepared = routeOf(metering.routes, method, path).prepare(raw)
  if (isRefusal(prepared)) return prepared
  return prepared.run(testCall({ headers, addressBucket: ADDRESS }), caller)
}

function routeOf(routes: readonly Route[], method: string, path: string): Route {
  const route = routes.find((each) => each.method === method && each.path === path)
  if (route === undefined) throw new Error(`no route ${method} ${path}`)
  return route
}
