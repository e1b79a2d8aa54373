import { findKeysByDigest, type Key } from '#accounts/keys/key-store.ts'
import { isSecret, secretDigest } from '#accounts/keys/secret.ts'
import { keyAccount } from '#accounts/ledger/account.ts'
import { readBalances } from '#accounts/ledger/balance.ts'
import { type Context, oncePerContext } from '#context.ts'
import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import type { Allowance } from '#domain/tier.ts'
import { toIso } from '#lib/time.ts'
import { TtlCache } from '#lib/ttl-cache.ts'
import type { RequestHeaders } from '#route/route.ts'
import { StoreError } from '#store/engine.ts'
import { batchLoader } from './batch-loader.ts'
import { MeteringUnavailable } from './meter/admission.ts'
import { readAllowance } from './tier.ts'

type KeyedCaller = Caller & { readonly kind: 'keyed' }

/** Revocation and a new allowance must hold on every replica within a second. */
const KEY_TTL_MS = 500

/** Bounds memory under a flood of bad secrets. */
const HELD_MAX = 20_000

/** Every bad Authorization header gets the same refusal, and never falls back to anonymous. */
export async function identifyCaller(
  ctx: Context,
  headers: RequestHeaders,
  addressBucket: string,
): Promise<Caller | Refusal> {
  const { keyPrefix } = ctx.ecosystem.service
  const { authorization } = headers
  if (authorization === undefined)
    return isMisplaced(keyPrefix, headers) ? MISPLACED : anonymousCaller(ctx, addressBucket)
  const secret = bearerSecret(authorization)
  if (secret === undefined || !isSecret(keyPrefix, secret)) return refuseKey()
  const digest = secretDigest(secret)
  const caller = await orUnavailable(keysOf(ctx).callers.get(digest, () => read(ctx, digest)))
  return caller === undefined ? refuseKey() : (refuseExpired(caller, ctx.clock()) ?? caller)
}

export function anonymousCaller({ ecosystem }: Context, bucket: string): Caller {
  return {
    kind: 'anonymous',
    identity: `ip:${bucket}`,
    bucket,
    tier: 'anonymous',
    dailyQuota: ecosystem.quotas.anonymous,
  }
}

/**
 * Applies a revocation here at once; other replicas follow at a notification, or within `KEY_TTL_MS`.
 * Without a digest every key is read again, where notifications may have been missed.
 */
export function forgetKey(ctx: Context, digest: string | undefined): void {
  const { callers } = keysOf(ctx)
  if (digest === undefined) callers.forgetAll()
  else callers.forget(digest)
}

const keysOf = oncePerContext((ctx) => ({
  callers: new TtlCache<KeyedCaller | undefined>({
    clock: ctx.clock,
    max: HELD_MAX,
    ttlMs: KEY_TTL_MS,
  }),
  find: batchLoader((digests) => findKeys(ctx, digests)),
}))

interface FundedKey {
  readonly key: Key
  readonly balance: MicroUsd
}

async function findKeys(
  { accounts }: Context,
  digests: readonly string[],
): Promise<ReadonlyMap<string, FundedKey>> {
  const keys = await findKeysByDigest(accounts, digests)
  const names = [...keys.values()].map(({ publicId }) => keyAccount(publicId))
  const balances = await readBalances({ run: accounts.read }, names)
  return new Map(
    [...keys].map(([digest, key]) => [
      digest,
      { key, balance: balances.get(keyAccount(key.publicId)) ?? 0n },
    ]),
  )
}

const MISPLACED = refuse(
  'invalid_api_key',
  'send the key as "Authorization: Bearer <key>", not in X-API-Key',
)

/** Without this refusal the call would count as one without a key, and the owner would not learn why. */
function isMisplaced(keyPrefix: string, { 'x-api-key': sent }: RequestHeaders): boolean {
  return typeof sent === 'string' && isSecret(keyPrefix, sent)
}

/** RFC 6750 section 2.1: one header, the scheme in any case, one space. */
function bearerSecret(header: string | readonly string[]): string | undefined {
  const only = typeof header === 'string' ? header : header.length === 1 ? header[0] : undefined
  return only === undefined ? undefined : /^bearer (\S+)$/i.exec(only)?.[1]
}

function refuseKey(): Refusal {
  return refuse('invalid_api_key', 'the API key is malformed, unknown or revoked')
}

function refuseExpired({ limits }: KeyedCaller, nowMs: number): Refusal | undefined {
  const end = limits?.expiresUnix
  if (end === undefined || nowMs < end * 1000) return undefined
  return refuse(
    'invalid_api_key',
    `the API key ended at ${toIso(end)}; its wallet can set a later end`,
  )
}

/** Undefined for a key that is unknown or revoked. */
async function read(ctx: Context, digest: string): Promise<KeyedCaller | undefined> {
  const { find } = keysOf(ctx)
  const readMs = ctx.clock()
  const found = await find(digest)
  if (!isActive(found)) return undefined
  const allowance = await readAllowance(ctx, found.key.wallet)
  // The key may have been revoked while the allowance was read.
  const isOld = Math.abs(ctx.clock() - readMs) >= KEY_TTL_MS
  const newest = isOld ? await find(digest) : found
  if (!isActive(newest)) return undefined
  const hasBalance = newest.balance >= ctx.ecosystem.pricePerCall
  return { ...keyedCaller(ctx, newest.key, allowance), hasBalance }
}

async function orUnavailable<T>(looking: Promise<T>): Promise<T> {
  try {
    return await looking
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    throw new MeteringUnavailable('cannot look keys up in the accounts store', { cause })
  }
}

function isActive(found: FundedKey | undefined): found is FundedKey {
  return found !== undefined && found.key.revokedUnix === null
}

export function keyedCaller(
  { ecosystem }: Pick<Context, 'ecosystem'>,
  key: Key,
  allowance: Allowance,
): KeyedCaller {
  return {
    kind: 'keyed',
    identity: `key:${ecosystem.service.keyPrefix}_${key.publicId}`,
    bucket: `wallet:${key.wallet}`,
    ...allowance,
    publicId: key.publicId,
    wallet: key.wallet,
    hasOwnCounter: !key.isFirst,
    ...(key.limits !== undefined && { limits: key.limits }),
  }
}
