import { createHmac, randomBytes } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { type IncomingMessage, type RequestOptions, request } from 'node:http'
import { request as requestTls } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { retryAfterMs } from '#lib/retry-after.ts'
import { isPublicAddress } from '#serving/webhooks/webhook-url.ts'
import { hostOf } from './webhook-url.ts'

export interface PostDeps {
  readonly allowPrivate: boolean
  /** Returns the IPv4 and IPv6 addresses of a name. */
  resolve(host: string): Promise<readonly string[]>
  readonly timeoutMs: number
}

export interface PostInput {
  readonly url: string
  readonly payload: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

export type PostResult =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly retryAfterMs: number | undefined
    }
  | { readonly kind: 'failed'; readonly reason: string }

/** Covers all from the look-up of the name to the status. */
export const POST_TIMEOUT_MS = 10_000

/** Never rejects. The name is resolved once, and only what was checked is connected to. */
export async function postEvent(deps: PostDeps, input: PostInput): Promise<PostResult> {
  const url = new URL(input.url)
  const deadline = AbortSignal.timeout(deps.timeoutMs)
  const signal = AbortSignal.any([deadline, input.signal])
  try {
    const host = hostOf(url)
    const addresses = isIP(host) === 0 ? await untilAborted(deps.resolve(host), signal) : [host]
    if (addresses.length === 0) return { kind: 'failed', reason: 'name_not_found' }
    if (!deps.allowPrivate && !addresses.every(isPublicAddress))
      return { kind: 'failed', reason: 'private_address' }
    return await exchange(url, { ...input, addresses, signal })
  } catch (error) {
    if (deadline.aborted) return { kind: 'failed', reason: 'timeout' }
    return { kind: 'failed', reason: reasonOf(error) }
  }
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', abort))
}

async function exchange(
  url: URL,
  { addresses, ...input }: PostInput & { readonly addresses: readonly string[] },
): Promise<PostResult> {
  const options: RequestOptions = {
    method: 'POST',
    agent: false,
    lookup: pinned(addresses),
    signal: input.signal,
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(input.payload),
      'user-agent': 'Sexton-Webhooks',
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
  return (_host, { all }, callback) => {
    const [first = { address: '', family: 0 }] = list
    if (all === true) callback(null, list)
    else callback(null, first.address, first.family)
  }
}

/** Codes only: texts of errors may show what an attacker asks about. */
function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ENOTFOUND' || code === 'ENODATA') return 'name_not_found'
  if (code === 'ECONNREFUSED') return 'connection_refused'
  if (/CERT|TLS|SSL|SELF_SIGNED|ALTNAME|EPROTO/.test(code)) return 'tls_failed'
  return 'connection_failed'
}

/** Avoids the thread pool of `dns.lookup`, whose four threads a slow name server could block. */
export async function resolveName(host: string): Promise<readonly string[]> {
  if (host === 'localhost') return ['127.0.0.1']
  const resolver = new Resolver({ timeout: 3_000, tries: 2 })
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const found = [v4, v6].flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  if (found.length === 0 && v4.status === 'rejected') throw v4.reason
  return found
}

/** 32 random bytes as libraries of Standard Webhooks take them. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

/** Headers of Standard Webhooks 1.0.0, symmetric (`v1`). */
export function signedHeaders(
  secret: string,
  event: {
    /** The same at every attempt. */
    readonly id: string
    /** The time of the attempt. */
    readonly unix: number
    readonly payload: string
  },
): Readonly<Record<string, string>> {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const content = `${event.id}.${event.unix}.${event.payload}`
  return {
    'webhook-id': event.id,
    'webhook-timestamp': String(event.unix),
    'webhook-signature': `v1,${createHmac('sha256', key).update(content).digest('base64')}`,
  }
}
