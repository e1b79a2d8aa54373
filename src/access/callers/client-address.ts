import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { RequestHeaders } from '#route/route.ts'

type Parsed = ipaddr.IPv4 | ipaddr.IPv6
type Range = [Parsed, number]

/** RFC 6052: the IPv4 address behind a NAT64 gateway stands in the last 32 bits. */
const NAT64: Range = [ipaddr.IPv6.parse('64:ff9b::'), 96]

/** Whoever has one address of an IPv6 /64 has them all. */
const IPV6_BUCKET_BITS = 64

/** A socket that has gone tells no address; such requests share one bucket. */
const UNKNOWN = 'unknown'

export interface AddressBucketDeps {
  /** CIDRs or addresses whose X-Forwarded-For is believed; none by default. */
  readonly trustedProxies?: readonly string[]
  warn?(message: string): void
}

export type AddressBucket = (socketAddress: string, headers: RequestHeaders) => string

/**
 * Makes the function that tells what is counted: one IPv4 address or one IPv6 /64. It walks
 * X-Forwarded-For from the right while the hop is one of the named proxies (CIDRs or addresses) and
 * stops at garbage; with no proxies named the header counts for nothing. Throws on a bad CIDR.
 *
 * Warns once about a proxy nearby that is not named: all its clients would share one quota. A far peer
 * may send the header at will.
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

/** Networks of which a proxy on the same machine or next to it is a part. */
const NEAR: readonly string[] = ['loopback', 'private', 'uniqueLocal', 'linkLocal']

function untrustedProxy(address: string): string {
  return `X-Forwarded-For from ${address} is ignored, so its clients share one quota; if it is your proxy, set SEXTON_TRUSTED_PROXIES=${address}`
}

/** Addresses whose meaning is kept; an address sends many requests over its connections. */
const REMEMBERED_MAX = 10_000

/** The same function, which works each of many addresses out once. */
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

/** Makes the function that tells whether a peer is one of the named proxies. Throws on a bad CIDR. */
export function createProxyCheck(
  trustedProxies: readonly string[],
): (socketAddress: string) => boolean {
  const trusted = trustedProxies.map(parseRange)
  return (socketAddress) => {
    const socket = parseEntry(socketAddress)
    return socket !== undefined && trusted.some((range) => within(socket, range))
  }
}

/** The first hop from the right that is not a proxy of ours, or the last one that could be read. */
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
    const address = ipaddr.parse(text)
    return [address, address.kind() === 'ipv4' ? 32 : 128]
  }
  const [address = '', bits = ''] = text.split('/')
  if (isIP(address) === 0 || !/^[0-9]{1,3}$/.test(bits))
    throw new RangeError(`not an address or CIDR of a proxy: "${text}"`)
  return ipaddr.parseCIDR(text)
}

/** Node joins repeated headers with commas, so the last entry is the nearest hop either way. */
function forwardedHops(header: string | readonly string[] | undefined): string[] {
  if (header === undefined) return []
  return (typeof header === 'string' ? header : header.join(',')).split(',')
}

/** An address, perhaps with brackets, port or zone, with IPv4 unwrapped from IPv6. */
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
