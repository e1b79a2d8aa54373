import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { findActiveKey, isSecret, type Key, secretDigest } from '#accounts/keys/key-store.ts'
import { orUnavailable } from '#accounts/metering/meter/meter.ts'
import { TtlCache } from '#base/async.ts'
import type { Caller } from '#base/caller.ts'
import { type Refusal, refuse } from '#base/refusal.ts'
import type { Allowance } from '#base/tier.ts'
import { toIso } from '#base/time.ts'
import { type Context, oncePerContext } from '#context.ts'
import type { RequestHeaders } from '#route.ts'
import { readAllowance } from './tier.ts'

export type KeyedCaller = Caller & { readonly kind: 'keyed' }

/** A revocation or new allowance must hold on every replica within a second. */
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
  if (secret === undefined || !isSecret(keyPrefix, secret)) return BAD_KEY
  const digest = secretDigest(secret)
  const caller = await orUnavailable(() => getCallers(ctx).get(digest, () => read(ctx, digest)))
  return caller === undefined ? BAD_KEY : (refuseExpired(caller, ctx.clock()) ?? caller)
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
 * Drops the key from this process's cache; other replicas follow by notification, or within `KEY_TTL_MS`. Without a
 * digest, drops all, because notifications may have been missed.
 */
export function forgetKey(ctx: Context, digest: string | undefined): void {
  if (digest === undefined) getCallers(ctx).forgetAll()
  else getCallers(ctx).forget(digest)
}

const getCallers = oncePerContext(
  ({ clock }) => new TtlCache<KeyedCaller | undefined>({ clock, max: HELD_MAX, ttlMs: KEY_TTL_MS }),
)

const MISPLACED = refuse(
  'invalid_api_key',
  'send the key as "Authorization: Bearer <key>", not in X-API-Key',
)

/** Refuses a key in X-API-Key: the call would otherwise count as anonymous, and the owner would not learn why. */
function isMisplaced(keyPrefix: string, { 'x-api-key': sent }: RequestHeaders): boolean {
  return typeof sent === 'string' && isSecret(keyPrefix, sent)
}

/** RFC 6750 section 2.1: one header, the scheme in any case, one space. */
function bearerSecret(header: string | readonly string[]): string | undefined {
  const only = typeof header === 'string' ? header : header.length === 1 ? header[0] : undefined
  return only === undefined ? undefined : /^bearer (\S+)$/i.exec(only)?.[1]
}

const BAD_KEY = refuse('invalid_api_key', 'the API key is malformed, unknown or revoked')

function refuseExpired({ limits }: KeyedCaller, nowMs: number): Refusal | undefined {
  const end = limits?.expiresUnix
  if (end === undefined || nowMs < end * 1000) return undefined
  return refuse(
    'invalid_api_key',
    `the API key ended at ${toIso(end)}; its wallet can set a later end`,
  )
}

/** Returns undefined if the key is unknown or revoked. */
async function read(ctx: Context, digest: string): Promise<KeyedCaller | undefined> {
  const readMs = ctx.clock()
  const found = await findActiveKey(ctx.accounts, digest)
  if (found === undefined) return undefined
  const allowance = await readAllowance(ctx, found.wallet)
  // The key may have been revoked while the allowance was read.
  const isOld = Math.abs(ctx.clock() - readMs) >= KEY_TTL_MS
  const newest = isOld ? await findActiveKey(ctx.accounts, digest) : found
  if (newest === undefined) return undefined
  const hasBalance = newest.balance >= ctx.ecosystem.pricePerCall
  return { ...keyedCaller(ctx, newest, allowance), hasBalance }
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
    ...(key.limits !== undefined && { limits: key.limits }),
  }
}

type Parsed = ipaddr.IPv4 | ipaddr.IPv6

/** One customer usually has a whole IPv6 /64. */
const IPV6_BUCKET_BITS = 64

/**
 * Returns the counted bucket: one IPv4 or one IPv6 /64. Walks X-Forwarded-For from the right over
 * trusted proxies and stops at garbage; without proxies the header is ignored.
 */
export function findAddressBucket(
  ctx: Context,
  socketAddress: string,
  headers: RequestHeaders,
): string {
  const peer = parseEntry(socketAddress)
  // A closed socket has no address; such requests share one bucket.
  if (peer === undefined) return 'unknown'
  const forwarded = headers['x-forwarded-for']
  if (forwarded === undefined) return toBucket(peer)
  const { trusted } = getProxies(ctx)
  const isTrusted = (hop: Parsed) => ipaddr.subnetMatch(hop, { trusted }, '') === 'trusted'
  if (!isTrusted(peer)) warnOfProxy(ctx, peer)
  // Repeated headers are joined by commas, so the last entry is the nearest hop.
  const hops = String(forwarded).split(',')
  let nearest = peer
  while (isTrusted(nearest)) {
    const hop = parseEntry(hops.pop() ?? '')
    if (hop === undefined) break
    nearest = hop
  }
  return toBucket(nearest)
}

const NEAR: readonly string[] = ['loopback', 'private', 'uniqueLocal', 'linkLocal']

/** Warns once, since the clients of such a proxy share one quota. Distant peers may forge the header. */
function warnOfProxy(ctx: Context, peer: Parsed): void {
  const proxies = getProxies(ctx)
  if (proxies.hasWarned || !NEAR.includes(peer.range())) return
  proxies.hasWarned = true
  const address = peer.toString()
  ctx.logger.warn(
    `X-Forwarded-For from ${address} is ignored, so its clients share one quota; if it is your proxy, set SEXTON_TRUSTED_PROXIES=${address}`,
  )
}

const getProxies = oncePerContext(({ config }) => ({
  trusted: config.trustedProxies.map(parseRange),
  hasWarned: false,
}))

/** The setting was validated when it was read. IPv4-mapped ranges become IPv4 ranges. */
function parseRange(text: string): [Parsed, number] {
  const [address, bits] = ipaddr.parseCIDR(text)
  const plain = unwrap(address)
  const isMapped = plain.kind() !== address.kind() && bits >= 96
  return isMapped ? [plain, bits - 96] : [address, bits]
}

/** Accepts brackets, port and zone; unwraps IPv4 from IPv6. */
function parseEntry(text: string): Parsed | undefined {
  const entry = text.trim()
  const bracketed = /^\[([^\]]+)\](?::[0-9]{1,5})?$/.exec(entry)?.[1]
  const ported = /^([0-9.]+):[0-9]{1,5}$/.exec(entry)?.[1]
  const [address = ''] = (bracketed ?? ported ?? entry).split('%')
  return isIP(address) === 0 ? undefined : unwrap(ipaddr.parse(address))
}

const MAPPED = [ipaddr.parseCIDR('::ffff:0:0/96'), ipaddr.parseCIDR('64:ff9b::/96')]

/** Mapped addresses and NAT64 (RFC 6052) hold the IPv4 address in the last 32 bits. */
function unwrap(address: Parsed): Parsed {
  const holdsIpv4 = ipaddr.subnetMatch(address, { MAPPED }, '') === 'MAPPED'
  return holdsIpv4 ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address
}

function toBucket(address: Parsed): string {
  if (address instanceof ipaddr.IPv4) return address.toString()
  const network = address.parts.map((part, index) => (index < IPV6_BUCKET_BITS / 16 ? part : 0))
  return `${new ipaddr.IPv6(network).toString()}/${IPV6_BUCKET_BITS}`
}
