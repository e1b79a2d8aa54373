import { createHash } from 'node:crypto'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import type { Address } from '#domain/address.ts'
import { isRefusal } from '#domain/refusal.ts'
import type { Outcome, Route } from '#http/route.ts'
import { ledgerMigrations } from '#ledger/ledger-migrations.ts'
import { unixNow } from '#lib/clock.ts'
import { toIso } from '#lib/day.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import type { Holdings } from './access-deps.ts'
import { accessMigrations } from './access-migrations.ts'
import type { Headers } from './callers/callers.ts'
import { type Access, createAccess } from './create-access.ts'
import { type Action, buildMessage, type MessageValues } from './keys/message.ts'

export const HARNESS_MIGRATIONS = [...ledgerMigrations, ...accessMigrations]
export const SERVICE_NAME = 'Local Ecosystem Data'
export const CHAIN_ID = 8453
const START_MS = Date.UTC(2026, 10, 21, 12)

/** Access on a real store with a clock, randomness and holdings that a test sets. */
export interface Harness {
  readonly access: Access
  readonly engine: Engine
  readonly now: { ms: number }
  readonly premium: Set<Address>
  /** Can the index tell who is premium? */
  index: 'live' | 'behind' | 'broken'
  /** How often the index was asked for a tier. */
  judged: number
  holdings: Holdings
  /** Public ids to draw next; random ones when empty. */
  readonly draws: string[]
  sign(wallet: PrivateKeyAccount, action: Action, values?: MessageValues): Promise<SignedBody>
  call(path: string, input?: Call): Promise<Outcome>
  /** A new wallet's key. */
  mint(wallet?: PrivateKeyAccount): Promise<Minted>
}

export type SignedBody = {
  readonly ownerAddress: string
  readonly signature: string
  readonly message: string
}

export interface Minted {
  readonly wallet: PrivateKeyAccount
  readonly publicId: string
  readonly secret: string
}

interface Call {
  readonly method?: 'GET' | 'POST'
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly headers?: Headers
}

export function newWallet(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey())
}

export function bearer(secret: string): { readonly headers: Headers } {
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

export function createHarness(engine: Engine): Harness {
  const now = { ms: START_MS }
  const premium = new Set<Address>()
  const draws: string[] = []
  let drawn = 0
  const access = createAccess({
    engine,
    clock: () => now.ms,
    randomBytes(size) {
      const next = size === 4 ? draws.shift() : undefined
      drawn += 1
      if (next !== undefined) return Buffer.from(next, 'hex')
      return createHash('sha256').update(`draw ${drawn}`).digest().subarray(0, size)
    },
    serviceName: SERVICE_NAME,
    keyPrefix: 'svc',
    quotas: { anonymous: 5, free: 10, premium: 20 },
    gateMinimum: 100_000_000n,
    paymentChainId: CHAIN_ID,
    pricePerCall: 100n,
    isPremium: async (wallet) => {
      harness.judged += 1
      if (harness.index === 'broken') throw new StoreError('the index cannot be read')
      return harness.index === 'live' ? premium.has(wallet) : undefined
    },
    holdings: async () => harness.holdings,
  })
  const harness: Harness = {
    access,
    engine,
    now,
    premium,
    index: 'live',
    judged: 0,
    draws,
    holdings: { kind: 'ready', heldUsd: 100_000_000n, tokens: [] },
    sign: (wallet, action, values) => signMessage(wallet, action, { now, values: values ?? {} }),
    call: (path, input) => callRoute(access, path, input ?? {}),
    async mint(wallet = newWallet()) {
      const outcome = await harness.call('/api/keys', { body: await harness.sign(wallet, 'mint') })
      now.ms += 1_000
      const { key, secret } = bodyOf<{ key: { publicId: string }; secret: string }>(outcome)
      return { wallet, publicId: key.publicId, secret }
    },
  }
  return harness
}

async function signMessage(
  wallet: PrivateKeyAccount,
  action: Action,
  input: { readonly now: { readonly ms: number }; readonly values: MessageValues },
): Promise<SignedBody> {
  const issued = toIso(unixNow(() => input.now.ms))
  const values = { address: wallet.address, chain: String(CHAIN_ID), issued, ...input.values }
  const message = buildMessage(SERVICE_NAME, action, values)
  const signature = await wallet.signMessage({ message })
  return { ownerAddress: wallet.address, signature, message }
}

async function callRoute(access: Access, path: string, call: Call): Promise<Outcome> {
  const method = call.method ?? (call.body === undefined ? 'GET' : 'POST')
  const headers = call.headers ?? {}
  const caller = await access.identify(headers, '192.0.2.1')
  if (isRefusal(caller)) return caller
  const query = new Map(Object.entries(call.query ?? {}).map(([name, value]) => [name, [value]]))
  const raw = { query, path: call.path ?? {}, body: call.body ?? {} }
  const prepared = routeOf(access.routes, method, path).prepare(raw)
  if (isRefusal(prepared)) return prepared
  const signal = new AbortController().signal
  return prepared.run({ requestId: 'r', headers, addressBucket: '192.0.2.1', signal, caller })
}

function routeOf(routes: readonly Route[], method: string, path: string): Route {
  const route = routes.find((each) => each.method === method && each.path === path)
  if (route === undefined) throw new Error(`no route ${method} ${path}`)
  return route
}
