import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import { type Context, oncePerContext } from '#context.ts'
import type { RequestHeaders } from '#route/route.ts'

type Parsed = ipaddr.IPv4 | ipaddr.IPv6
type Range = [Parsed, number]

/** RFC 6052: NAT64 holds the IPv4 address in the last 32 bits. */
const NAT64: Range = [ipaddr.IPv6.parse('64:ff9b::'), 96]

/** One customer usually has a whole IPv6 /64. */
const IPV6_BUCKET_BITS = 64

/** A closed socket has no address; such requests share one bucket. */
const UNKNOWN = 'unknown'

/** Of sockets; parsing addresses takes longer than looking them up. */
const PEERS_MAX = 10_000

/**
 * Returns the counted bucket: one IPv4 or one IPv6 /64. Walks X-Forwarded-For from the right over
 * trusted proxies and stops at garbage; without proxies the header is ignored.
 *
 * Warns once about an untrusted proxy nearby, whose clients would share one quota; distant peers
 * may forge the header.
 */
export function findAddressBucket(
  ctx: Context,
  socketAddress: string,
  headers: RequestHeaders,
): string {
  const proxies = proxiesOf(ctx)
  const peer = proxies.peer(socketAddress)
  if (peer === undefined) return UNKNOWN
  const forwarded = headers['x-forwarded-for']
  if (forwarded === undefined) return peer.bucket
  if (peer.isTrusted)
    return toBucket(nearestStranger(forwardedHops(forwarded), proxies.isTrusted) ?? peer.address)
  if (!proxies.hasWarned && NEAR.includes(peer.address.range())) {
    proxies.hasWarned = true
    const address = peer.address.toString()
    ctx.logger.warn(
      `X-Forwarded-For from ${address} is ignored, so its clients share one quota; if it is your proxy, set SEXTON_TRUSTED_PROXIES=${address}`,
    )
  }
  return peer.bucket
}

const NEAR: readonly string[] = ['loopback', 'private', 'uniqueLocal', 'linkLocal']

interface Peer {
  readonly address: Parsed
  readonly bucket: string
  readonly isTrusted: boolean
}

const proxiesOf = oncePerContext(({ config }) => {
  const trusted = config.trustedProxies.map(parseRange)
  const isTrusted = (hop: Parsed) => trusted.some((range) => within(hop, range))
  const peers = new LRUCache<string, Peer>({ max: PEERS_MAX })
  return {
    isTrusted,
    hasWarned: false,
    peer(socketAddress: string): Peer | undefined {
      const known = peers.get(socketAddress)
      if (known !== undefined) return known
      const address = parseEntry(socketAddress)
      if (address === undefined) return undefined
      const peer = { address, bucket: toBucket(address), isTrusted: isTrusted(address) }
      peers.set(socketAddress, peer)
      return peer
    },
  }
})

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

/** The setting was checked when it was read. A range of IPv4-mapped addresses is one of IPv4 addresses. */
function parseRange(text: string): Range {
  const [address, bits] = ipaddr.parseCIDR(text)
  const plain = unwrap(address)
  const mappedBits = 128 - 32
  return plain.kind() !== address.kind() && bits >= mappedBits
    ? [plain, bits - mappedBits]
    : [address, bits]
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
