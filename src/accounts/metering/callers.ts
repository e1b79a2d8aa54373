import { findKeysByDigest, type Key } from '#accounts/keys/key-store.ts'
import { isSecret, secretDigest } from '#accounts/keys/secret.ts'
import type { Address } from '#domain/address.ts'
import type { Caller } from '#domain/caller.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import type { Allowance } from '#domain/tier.ts'
import { toIso } from '#lib/time.ts'
import { TtlCache } from '#lib/ttl-cache.ts'
import type { RequestHeaders } from '#route/route.ts'
import { StoreError } from '#store/engine.ts'
import { type AllowancesDeps, createAllowances } from './allowances.ts'
import { batchLoader } from './batch-loader.ts'
import { MeteringUnavailable } from './meter/admission.ts'

export interface CallersDeps extends AllowancesDeps {
  readonly keyPrefix: string
}

export interface Callers {
  /** Every bad Authorization header gets the same refusal. */
  identify(headers: RequestHeaders, addressBucket: string): Promise<Caller | Refusal>
  anonymous(addressBucket: string): Caller
  allowanceOf(wallet: Address): Promise<Allowance>
  /** Applies a revocation here at once; other replicas follow at a notification, or within `KEY_TTL_MS`. */
  forget(digest: string): void
  /** Every key, where notifications may have been missed. */
  forgetAll(): void
}

type KeyedCaller = Caller & { readonly kind: 'keyed' }

/** Revocation and a new allowance must hold on every replica within a second. */
const KEY_TTL_MS = 500

/** Bounds memory under a flood of bad secrets. */
const HELD_MAX = 20_000

/** A bad Authorization header never falls back to anonymous. */
export function createCallers(deps: CallersDeps): Callers {
  const keyed = new TtlCache<KeyedCaller | undefined>({
    ...deps,
    max: HELD_MAX,
    ttlMs: KEY_TTL_MS,
  })
  const find = batchLoader((digests) => findKeysByDigest(deps.engine, digests))
  const allowanceOf = createAllowances(deps)
  const reading = { ...deps, find, allowanceOf }
  const anonymous = (bucket: string) => anonymousCaller(deps, bucket)
  return {
    anonymous,
    allowanceOf,
    forget: (digest) => keyed.forget(digest),
    forgetAll: () => keyed.forgetAll(),
    async identify(headers, addressBucket) {
      const { authorization } = headers
      if (authorization === undefined)
        return isMisplaced(deps.keyPrefix, headers) ? MISPLACED : anonymous(addressBucket)
      const secret = bearerSecret(authorization)
      if (secret === undefined || !isSecret(deps.keyPrefix, secret)) return refuseKey()
      const digest = secretDigest(secret)
      const caller = await orUnavailable(keyed.get(digest, () => read(reading, digest)))
      return caller === undefined ? refuseKey() : (refuseExpired(caller, deps.clock()) ?? caller)
    },
  }
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

interface Reading extends CallersDeps {
  find(digest: string): Promise<Key | undefined>
  allowanceOf(wallet: Address): Promise<Allowance>
}

/** Undefined for a key that is unknown or revoked. */
async function read(deps: Reading, digest: string): Promise<KeyedCaller | undefined> {
  const readMs = deps.clock()
  const key = await deps.find(digest)
  if (!isActive(key)) return undefined
  const allowance = await deps.allowanceOf(key.wallet)
  // The key may have been revoked while the allowance was read.
  const isOld = Math.abs(deps.clock() - readMs) >= KEY_TTL_MS
  const newest = isOld ? await deps.find(digest) : key
  return isActive(newest) ? keyedCaller(deps, newest, allowance) : undefined
}

async function orUnavailable<T>(looking: Promise<T>): Promise<T> {
  try {
    return await looking
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    throw new MeteringUnavailable('cannot look keys up in the accounts store', { cause })
  }
}

function isActive(key: Key | undefined): key is Key {
  return key !== undefined && key.revokedUnix === null
}

function anonymousCaller(deps: CallersDeps, bucket: string): Caller {
  return {
    kind: 'anonymous',
    identity: `ip:${bucket}`,
    bucket,
    tier: 'anonymous',
    dailyQuota: deps.quotas.anonymous,
  }
}

export function keyedCaller(
  deps: Pick<CallersDeps, 'keyPrefix'>,
  key: Key,
  allowance: Allowance,
): KeyedCaller {
  return {
    kind: 'keyed',
    identity: `key:${deps.keyPrefix}_${key.publicId}`,
    bucket: `wallet:${key.wallet}`,
    ...allowance,
    publicId: key.publicId,
    wallet: key.wallet,
    hasOwnCounter: !key.isFirst,
    ...(key.limits !== undefined && { limits: key.limits }),
  }
}
