import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Whether it is global unicast by the IANA special-purpose registries (RFC 6890), and not a mapped address. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false
  const parsed = ipaddr.parse(address)
  const isGlobal = parsed.kind() === 'ipv4' || parsed.match(ipaddr.parseCIDR('2000::/3'))
  return isGlobal && parsed.range() === 'unicast'
}
