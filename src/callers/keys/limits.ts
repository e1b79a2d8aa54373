import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { KeyLimits } from '#domain/key-limits.ts'
import { toUsd } from '#domain/money.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { toIso } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

/** Parses the column: JSON, with money as text. */
export function parseLimits(text: string | null): KeyLimits | undefined {
  if (text === null) return undefined
  const { lowBalanceMicroUsd, ...limits } = JSON.parse(text)
  if (lowBalanceMicroUsd === undefined) return limits
  return { ...limits, lowBalanceMicroUsd: BigInt(lowBalanceMicroUsd) }
}

export function limitsText(limits: KeyLimits = {}): string | null {
  if (Object.values(limits).every((each) => each === undefined)) return null
  return JSON.stringify(limits, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

/** Returns the digest of the key's secret. */
export async function setLimits(
  connection: Connection,
  { publicId, limits }: { readonly publicId: string; readonly limits: KeyLimits },
): Promise<string> {
  const [row] = await connection.run(sql`
    update keys set limits = ${limitsText(limits)} where public_id = ${publicId}
    returning secret_digest`)
  return row === undefined ? '' : column.text(row, 'secret_digest')
}

/** Shows limits as callers read and send them; null for what is not limited. */
export function showLimits(limits: KeyLimits = {}) {
  const { expiresUnix, lowBalanceMicroUsd } = limits
  return {
    dailyPaidCalls: limits.dailyPaidCalls ?? null,
    monthlyPaidCalls: limits.monthlyPaidCalls ?? null,
    endpoints: limits.endpoints ?? null,
    origins: limits.origins ?? null,
    addresses: limits.addresses ?? null,
    expiresAt: expiresUnix === undefined ? null : toIso(expiresUnix),
    lowBalanceUsd: lowBalanceMicroUsd === undefined ? null : toUsd(lowBalanceMicroUsd),
  }
}

/** `addressBucket` as counted: an IPv4 address or an IPv6 /64. */
export function holdsAddress(ranges: readonly string[], addressBucket: string): boolean {
  const [address = ''] = addressBucket.split('/')
  if (isIP(address) === 0) return false
  const parsed = ipaddr.parse(address)
  return ranges.some((range) => {
    const [network, bits] = ipaddr.parseCIDR(range)
    return network.kind() === parsed.kind() && parsed.match(network, bits)
  })
}

export function hasCap(limits: KeyLimits | undefined): boolean {
  return limits?.dailyPaidCalls !== undefined || limits?.monthlyPaidCalls !== undefined
}

export interface Use {
  readonly origin: string | readonly string[] | undefined
  readonly addressBucket: string
  /** Set for data endpoints; others are open to every key. */
  readonly path: string | undefined
}

/** Checked before anything is counted. */
export function refuseUse(limits: KeyLimits | undefined, use: Use): Refusal | undefined {
  if (limits === undefined) return undefined
  const { origins, addresses, endpoints } = limits
  if (origins !== undefined && !(typeof use.origin === 'string' && origins.includes(use.origin)))
    return refuse('key_not_allowed', 'this key is limited to other origins')
  if (addresses !== undefined && !holdsAddress(addresses, use.addressBucket))
    return refuse('key_not_allowed', 'this key is limited to other client addresses')
  if (endpoints !== undefined && use.path !== undefined && !endpoints.includes(use.path))
    return refuse('key_not_allowed', `this key is limited to ${endpoints.join(', ')}`)
  return undefined
}
