import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { type Static, type TSchema, Type } from 'typebox'
import type { KeyLimits } from '#domain/key-limits.ts'
import { type Refusal, type RefusalDetail, refuse } from '#domain/refusal.ts'
import { parseInstant } from '#lib/instant.ts'

const PAID_CALLS_MAX = 1_000_000_000
const LISTED_MAX = 50
const USD_MIN = 0.000001
const USD_MAX = 1_000_000
/** Addresses are compared by /64. */
const IPV6_BITS_MAX = 64

const orNull = <T extends TSchema>(schema: T, description: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], { description }))

const calls = Type.Integer({ minimum: 0, maximum: PAID_CALLS_MAX })

const list = (item: object) =>
  Type.Array(Type.String({ maxLength: 256, ...item }), { minItems: 1, maxItems: LISTED_MAX })

/** Fields of the request body. */
export const limitsInput = (dataPaths: readonly string[]) => ({
  dailyPaidCalls: orNull(calls, 'Paid calls per UTC day.'),
  monthlyPaidCalls: orNull(calls, 'Paid calls per UTC month.'),
  endpoints: orNull(list({ enum: [...dataPaths] }), 'The only data endpoints for this key.'),
  origins: orNull(
    list({}),
    'The only values of the Origin header, such as https://app.example; there are no wildcards.',
  ),
  addresses: orNull(
    list({}),
    'The only client addresses: IPv4 addresses or ranges, and IPv6 ranges of /64 or wider.',
  ),
  expiresAt: orNull(Type.String({ maxLength: 64 }), 'When the key ends (RFC 3339).'),
  lowBalanceUsd: orNull(
    Type.Number({ minimum: USD_MIN, maximum: USD_MAX }),
    'Answers tell when the prepaid balance is below this (X-Balance-Low).',
  ),
})

export type SentLimits = {
  readonly [Name in keyof ReturnType<typeof limitsInput>]?: Static<
    ReturnType<typeof limitsInput>[Name]
  >
}

/** Members that are not sent stay; null removes a limit. All mistakes at once. */
export function applyLimits(
  before: KeyLimits,
  sent: SentLimits,
  nowUnix: number,
): KeyLimits | Refusal {
  const errors: RefusalDetail[] = []
  const wrong = (name: string, reason: string) => void errors.push({ in: 'body', name, reason })
  const each = (name: 'origins' | 'addresses', parse: (text: string) => string | undefined) =>
    sent[name]?.map((text) => parse(text) ?? wrong(name, `${JSON.stringify(text)} is none`) ?? text)
  const { expiresAt, lowBalanceUsd } = sent
  const expires = expiresAt == null ? expiresAt : parseInstant(expiresAt)
  if (typeof expiresAt === 'string' && (expires == null || expires <= nowUnix * 1000))
    wrong('expiresAt', 'must be a time to come, such as 2030-01-31T00:00:00Z')
  const changed = {
    ...sent,
    origins: each('origins', parseOrigin) ?? sent.origins,
    addresses: each('addresses', parseAddresses) ?? sent.addresses,
    expiresUnix: typeof expires === 'number' ? Math.floor(expires / 1000) : expires,
    lowBalanceMicroUsd:
      lowBalanceUsd == null ? lowBalanceUsd : BigInt(Math.round(lowBalanceUsd * 1e6)),
  }
  if (errors.length > 0)
    return refuse('invalid_body', 'some limits are none; see errors', { errors })
  const after: Record<string, unknown> = { ...before }
  for (const name of LIMITS)
    if (changed[name] !== undefined) after[name] = changed[name] ?? undefined
  return after
}

const LIMITS = [
  'dailyPaidCalls',
  'monthlyPaidCalls',
  'endpoints',
  'origins',
  'addresses',
  'expiresUnix',
  'lowBalanceMicroUsd',
] as const satisfies readonly (keyof KeyLimits)[]

/** The limits that would allow more, or warn less, than before: only the wallet may change them so. */
export function loosened(before: KeyLimits, after: KeyLimits): readonly string[] {
  const more = (name: 'dailyPaidCalls' | 'monthlyPaidCalls' | 'expiresUnix') =>
    (after[name] ?? Number.POSITIVE_INFINITY) > (before[name] ?? Number.POSITIVE_INFINITY)
  const wider = (name: 'endpoints' | 'origins' | 'addresses') => {
    const isWithin = name === 'addresses' ? holdsRange : Object.is
    const known = before[name]
    if (known === undefined) return false
    return !after[name]?.every((entry) => known.some((each) => isWithin(each, entry)))
  }
  const quieter = (after.lowBalanceMicroUsd ?? 0n) < (before.lowBalanceMicroUsd ?? 0n)
  return [
    ...(['dailyPaidCalls', 'monthlyPaidCalls'] as const).filter(more),
    ...(['endpoints', 'origins', 'addresses'] as const).filter(wider),
    ...(more('expiresUnix') ? ['expiresAt'] : []),
    ...(quieter ? ['lowBalanceUsd'] : []),
  ]
}

function holdsRange(range: string, part: string): boolean {
  const [[network, bits], [address, length]] = [ipaddr.parseCIDR(range), ipaddr.parseCIDR(part)]
  return network.kind() === address.kind() && length >= bits && address.match(network, bits)
}

/** Parses an origin as browsers send it: scheme, host and an unusual port. No browser sends a `*`. */
function parseOrigin(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.origin === 'null' || url.hostname.includes('*')) return undefined
  return text.replace(/\/$/, '') === url.origin ? url.origin : undefined
}

/** Reads an address or a network in its usual form, such as 192.0.2.0/24; undefined if it is none. */
function parseAddresses(text: string): string | undefined {
  const [address = '', bits, ...rest] = text.split('/')
  const version = isIP(address)
  const isPlain = version !== 0 && !address.includes('%') && rest.length === 0
  if (!isPlain || !/^[0-9]{1,3}$/.test(bits ?? '0')) return undefined
  const most = version === 4 ? 32 : IPV6_BITS_MAX
  const length = bits === undefined ? (version === 4 ? 32 : 128) : Number(bits)
  if (length > most) return undefined
  const kind = version === 4 ? ipaddr.IPv4 : ipaddr.IPv6
  return `${kind.networkAddressFromCIDR(`${address}/${length}`)}/${length}`
}
