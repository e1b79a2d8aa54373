import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { RequestHeaders } from '#route/route.ts'

type Parsed = ipaddr.IPv4 | ipaddr.IPv6
type Range = [Parsed, number]

/** RFC 6052: NAT64 holds the IPv4 address in the last 32 bits. */
const NAT64: Range = [ipaddr.IPv6.parse('64:ff9b::'), 96]

/** One customer usually has a whole IPv6 /64. */
const IPV6_BUCKET_BITS = 64

/** A closed socket has no address; such requests share one bucket. */
const UNKNOWN = 'unknown'

export interface AddressBucketDeps {
  /** Trusted proxies (CIDRs or addresses); none by default. */
  readonly trustedProxies?: readonly string[]
  warn?(message: string): void
}

export type AddressBucket = (socketAddress: string, headers: RequestHeaders) => string

/**
 * Returns the counted bucket: one IPv4 or one IPv6 /64. Walks X-Forwarded-For from the right over
 * trusted proxies and stops at garbage; without proxies the header is ignored. Throws on a bad
 * CIDR.
 *
 * Warns once about an untrusted proxy nearby, whose clients would share one quota; distant peers
 * may forge the header.
 */
export function createAddressBucket({
  trustedProxies = [],
  warn = () => undefined,
}: AddressBucketDeps): AddressBucket {
  const trusted = trustedProxies.map(parseRange)
  const isTrusted = (hop: Parsed) => trusted.some((range) => within(hop, range))
  const socketOf = remember((socketAddress) => {
    const socket = parseEntry(socketAddress)
    return socket && { socket, bucket: toBucket(socket), isTrusted: isTrusted(socket) }
  })
  let hasWarned = false
  return (socketAddress, headers) => {
    const known = socketOf(socketAddress)
    if (known === undefined) return UNKNOWN
    const forwarded = headers['x-forwarded-for']
    if (forwarded === undefined) return known.bucket
    if (known.isTrusted)
      return toBucket(nearestStranger(forwardedHops(forwarded), isTrusted) ?? known.socket)
    if (!hasWarned && NEAR.includes(known.socket.range())) {
      hasWarned = true
      warn(untrustedProxy(known.socket.toString()))
    }
    return known.bucket
  }
}

const NEAR: readonly string[] = ['loopback', 'private', 'uniqueLocal', 'linkLocal']

function untrustedProxy(address: string): string {
  return `X-Forwarded-For from ${address} is ignored, so its clients share one quota; if it is your proxy, set SEXTON_TRUSTED_PROXIES=${address}`
}

const REMEMBERED_MAX = 10_000

function remember<T>(read: (address: string) => T): (address: string) => T {
  const known = new Map<string, { readonly value: T }>()
  return (address) => {
    const held = known.get(address)
    if (held !== undefined) return held.value
    if (known.size >= REMEMBERED_MAX) known.clear()
    const value = read(address)
    known.set(address, { value })
    return value
  }
}

/** Whether a peer is a trusted proxy. Throws on a bad CIDR. */
export function createProxyCheck(
  trustedProxies: readonly string[],
): (socketAddress: string) => boolean {
  const trusted = trustedProxies.map(parseRange)
  return (socketAddress) => {
    const socket = parseEntry(socketAddress)
    return socket !== undefined && trusted.some((range) => within(socket, range))
  }
}

/** Returns the first untrusted hop from the right, or the last readable one. */
function nearestStranger(hops: string[], isTrusted: (hop: Parsed) => boolean): Parsed | undefined {
  let nearest: Parsed | undefined
  do {
    const hop = parseEntry(hops.pop() ?? '')
    if (hop === undefined) break
    nearest = hop
  } while (isTrusted(nearest))
  return nearest
}

function parseRange(text: string): Range {
  if (isIP(text) !== 0) {
    const address = unwrap(ipaddr.parse(text))
    return [address, address.kind() === 'ipv4' ? 32 : 128]
  }
  const [address = '', bits = ''] = text.split('/')
  if (isIP(address) === 0 || !/^[0-9]{1,3}$/.test(bits))
    throw new RangeError(`not an address or CIDR of a proxy: "${text}"`)
  return ipaddr.parseCIDR(text)
}

/** Repeated headers are joined by commas, so the last entry is the nearest hop. */
function forwardedHops(header: string | readonly string[] | undefined): string[] {
  if (header === undefined) return []
  return (typeof header === 'string' ? header : header.join(',')).split(',')
}

/** Accepts brackets, port and zone; unwraps IPv4 from IPv6. */
function parseEntry(text: string): Parsed | undefined {
  const entry = text.trim()
  const bracketed = /^\[([^\]]+)\](?::[0-9]{1,5})?$/.exec(entry)?.[1]
  const ported = /^([0-9.]+):[0-9]{1,5}$/.exec(entry)?.[1]
  const [address = ''] = (bracketed ?? ported ?? entry).split('%')
  return isIP(address) === 0 ? undefined : unwrap(ipaddr.parse(address))
}

function unwrap(address: Parsed): Parsed {
  if (!(address instanceof ipaddr.IPv6)) return address
  if (address.isIPv4MappedAddress()) return address.toIPv4Address()
  if (!within(address, NAT64)) return address
  return new ipaddr.IPv4(address.toByteArray().slice(12))
}

function within(address: Parsed, [range, bits]: Range): boolean {
  return address.kind() === range.kind() && address.match(range, bits)
}

function toBucket(address: Parsed): string {
  if (address instanceof ipaddr.IPv4) return address.toString()
  const network = address.parts.map((part, index) => (index < IPV6_BUCKET_BITS / 16 ? part : 0))
  return `${new ipaddr.IPv6(network).toString()}/${IPV6_BUCKET_BITS}`
}
