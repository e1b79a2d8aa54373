import { lookup, Resolver } from 'node:dns/promises'
import { type IncomingMessage, type RequestOptions, request } from 'node:http'
import { request as requestTls } from 'node:https'
import { isIP, type LookupFunction, type TcpNetConnectOpts } from 'node:net'
import ipaddr from 'ipaddr.js'
import { retryAfterMs } from '#base/time.ts'

export interface PostInput {
  readonly url: string
  readonly payload: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** For development: allows any address, and resolves names as this machine does. */
  readonly allowPrivate: boolean
  readonly timeoutMs?: number
  /** Returns the IPv4 and IPv6 addresses of a name. */
  readonly resolve?: ((host: string, signal: AbortSignal) => Promise<readonly string[]>) | undefined
}

export type PostResult =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly retryAfterMs: number | undefined
    }
  | { readonly kind: 'failed'; readonly reason: string }

/** Covers everything from the look-up of the name to the status. */
const POST_TIMEOUT_MS = 10_000

/** Never rejects. Resolves the name once and connects only to the checked addresses, so that DNS cannot change in between. */
export async function postEvent(input: PostInput): Promise<PostResult> {
  const { allowPrivate, timeoutMs = POST_TIMEOUT_MS } = input
  const { resolve = allowPrivate ? resolveLocally : resolveName } = input
  const url = new URL(input.url)
  const deadline = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([deadline, input.signal])
  try {
    const host = readHost(url)
    const addresses = isIP(host) === 0 ? await resolve(host, signal) : [host]
    if (addresses.length === 0) return { kind: 'failed', reason: 'name_not_found' }
    if (!allowPrivate && !addresses.every(isPublicAddress))
      return { kind: 'failed', reason: 'private_address' }
    return await exchange(url, { ...input, addresses, signal })
  } catch (error) {
    if (deadline.aborted) return { kind: 'failed', reason: 'timeout' }
    return { kind: 'failed', reason: describeReason(error) }
  }
}

/** Delay before the next address is tried. Node's own 250 ms would give up on distant hosts. */
const ATTEMPT_TIMEOUT_MS = 3_000

type FamilyOptions = Pick<TcpNetConnectOpts, 'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout'>

async function exchange(
  url: URL,
  { addresses, ...input }: PostInput & { readonly addresses: readonly string[] },
): Promise<PostResult> {
  const options: RequestOptions & FamilyOptions = {
    method: 'POST',
    agent: false,
    lookup: pinned(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT_MS,
    signal: input.signal,
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(input.payload),
      'user-agent': 'Sexton-Webhooks',
      // Common firewalls distrust requests without it.
      accept: '*/*',
      ...input.headers,
    },
  }
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const sending = url.protocol === 'https:' ? requestTls(url, options) : request(url, options)
  sending.on('response', resolve)
  sending.on('error', reject)
  sending.end(input.payload)
  const response = await promise
  const status = response.statusCode ?? 0
  sending.destroy()
  const asked = status === 429 || status === 503 ? response.headers['retry-after'] : undefined
  return { kind: 'answered', status, retryAfterMs: retryAfterMs(asked, Date.now()) }
}

function pinned(addresses: readonly string[]): LookupFunction {
  const list = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, _options, callback) => callback(null, list)
}

/** Returns codes only, because error texts could tell an attacker about this network. */
function describeReason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ENOTFOUND' || code === 'ENODATA') return 'name_not_found'
  if (code === 'ECONNREFUSED') return 'connection_refused'
  if (/CERT|TLS|SSL|SELF_SIGNED|ALTNAME|EPROTO/.test(code)) return 'tls_failed'
  return 'connection_failed'
}

/** Avoids the thread pool of `dns.lookup`, whose four threads a slow name server could block. */
async function resolveName(host: string, signal: AbortSignal): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: 3_000, tries: 2 })
  signal.addEventListener('abort', () => resolver.cancel(), { once: true })
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const found = [v4, v6].flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  if (found.length === 0 && v4.status === 'rejected') throw v4.reason
  return found
}

/** Resolves with /etc/hosts; names below `localhost` are this machine (RFC 6761). */
async function resolveLocally(host: string): Promise<readonly string[]> {
  if (host.endsWith('.localhost')) return ['127.0.0.1']
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

export const URL_LENGTH_MAX = 2_048

/** Lower ports belong to other protocols. */
const PORTS_FROM = 1_024

/** Returns the URL as `fetch` would request it, or the reason it is refused. `allowPrivate` is for development. */
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
  const host = readHost(url)
  if (isIP(host) === 0 ? !host.includes('.') : !isPublicAddress(host))
    return 'must name a public host'
  return url
}

/** Drops the brackets of IPv6. */
function readHost({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

/** Whether the address is global unicast by the IANA special-purpose registries (RFC 6890), and not IPv4-mapped. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false
  const parsed = ipaddr.parse(address)
  const isGlobal = parsed.kind() === 'ipv4' || parsed.match(ipaddr.parseCIDR('2000::/3'))
  return isGlobal && parsed.range() === 'unicast'
}
