import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export const URL_LENGTH_MAX = 2_048

/** Lower ports belong to other protocols. */
const PORTS_FROM = 1_024

/** Returns the URL as `fetch` would request it, or what is wrong. `allowPrivate` is for development. */
export function parseWebhookUrl(
  text: string,
  { allowPrivate }: { readonly allowPrivate: boolean },
): URL | string {
  const url = text.length > URL_LENGTH_MAX ? null : URL.parse(text)
  if (url === null) return `must be a URL of at most ${URL_LENGTH_MAX} characters`
  const isAllowed = url.protocol === 'https:' || (allowPrivate && url.protocol === 'http:')
  if (!isAllowed) return 'must begin with https://'
  if (url.username !== '' || url.password !== '') return 'must not contain a user or a password'
  if (url.hash !== '') return 'must not contain a fragment'
  if (allowPrivate) return url
  const port = Number(url.port)
  if (port !== 0 && port < PORTS_FROM) return `must use port 443, or one from ${PORTS_FROM} on`
  const host = hostOf(url)
  if (isIP(host) === 0 ? !host.includes('.') : !isPublicAddress(host))
    return 'must name a public host'
  return url
}

/** Drops the brackets of IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

/** Whether it is global unicast by the IANA special-purpose registries (RFC 6890), and not a mapped address. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false
  const parsed = ipaddr.parse(address)
  const isGlobal = parsed.kind() === 'ipv4' || parsed.match(ipaddr.parseCIDR('2000::/3'))
  return isGlobal && parsed.range() === 'unicast'
}
