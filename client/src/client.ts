import type { CallOptions, Client, Input } from './call.ts'
import { errorOf, type SextonError } from './problem.ts'
import { type Reply, replyOf } from './reply.ts'

export interface ClientOptions {
  /** Of the server, such as `https://api.example.org`. */
  readonly baseUrl: string
  /** The secret of an API key. */
  readonly key?: string
  /** A `fetch` of your own, such as one that pays by x402. */
  readonly fetch?: typeof fetch
  /** How often an answer with `Retry-After` is asked for again; 2 unless given. */
  readonly retries?: number
  /** A longer `Retry-After` is thrown at once; 30 unless given. */
  readonly retryAfterSecondsMax?: number
}

/** Answers that a client keeps, so that unchanged ones cost nothing (RFC 9110, 13.1.2). */
const KEPT_MAX = 100

interface Kept {
  readonly etag: string
  /** Parses anew for each reply: what a caller changes in one must not show in the next. */
  read(): unknown
}

export function createClient(options: ClientOptions): Client {
  const { fetch = globalThis.fetch, retries = 2, retryAfterSecondsMax = 30 } = options
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  const kept = new Map<string, Kept>()
  // `fetch` would quote the whole header in its error.
  if (options.key !== undefined && !/^[\x21-\x7e]+$/.test(options.key))
    throw new TypeError('the key contains a space, a line break or another character no key has')

  async function call<Data, Meta>(
    method: 'GET' | 'POST',
    path: string,
    input: Input = {},
    { signal, headers = {} }: CallOptions = {},
  ): Promise<Reply<Data, Meta>> {
    if (!path.startsWith('/')) throw new TypeError(`the path must begin with "/": ${path}`)
    const { url, body } = targetOf(method, baseUrl + path, input)
    const name = JSON.stringify([url, headers])
    const known = method === 'GET' ? kept.get(name) : undefined
    const init: RequestInit = {
      method,
      // The API never redirects; another host must not see a signature or a payment. Workers know no 'error'.
      redirect: 'manual',
      headers: {
        Accept: 'application/json',
        ...(options.key !== undefined && { Authorization: `Bearer ${options.key}` }),
        ...(known !== undefined && { 'If-None-Match': known.etag }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body }),
      ...(signal !== undefined && { signal }),
    }
    for (let left = retries; ; left--) {
      const response = await fetch(url, init)
      if (response.status === 304 && known !== undefined) return replyOf(response, known.read())
      const text = await response.text()
      const answer = parse(response, text)
      if (response.ok && answer !== undefined) {
        const reply = replyOf<Data, Meta>(response, answer)
        if (method === 'GET' && reply.etag !== undefined)
          keep(kept, name, { etag: reply.etag, read: () => parse(response, text) })
        return reply
      }
      const error = errorOf(response, answer, text)
      const seconds = error.retryAfterSeconds
      if (left <= 0 || seconds === undefined || seconds > retryAfterSecondsMax) throw error
      if (!isRepeatable(method, error)) throw error
      await wait(seconds * 1_000, signal)
    }
  }

  return { baseUrl, call }
}

/** After 503 a POST may have been done, and a `fetch` that pays by x402 would sign a new payment. */
function isRepeatable(method: string, { status, code }: SextonError): boolean {
  return status === 429 || (status === 503 && method === 'GET' && code !== 'settlement_pending')
}

/** Path members in braces; the rest goes into the query, or the body of a POST. */
function targetOf(method: string, template: string, input: Input) {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest.get(name)
    rest.delete(name)
    return encodeURIComponent(String(value))
  })
  if (method === 'POST') return { url: path, body: JSON.stringify(Object.fromEntries(rest)) }
  const query = new URLSearchParams([...rest].map(([name, value]) => [name, String(value)]))
  return { url: rest.size === 0 ? path : `${path}?${query}`, body: undefined }
}

/** Undefined for what is neither JSON nor the CSV of `format: 'csv'`: the API answers nothing else. */
function parse(response: Response, text: string): unknown {
  const type = response.headers.get('content-type') ?? ''
  if (type.startsWith('text/csv')) return text
  if (!/\bjson\b/.test(type)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The oldest goes first. */
function keep(kept: Map<string, Kept>, name: string, answer: Kept): void {
  kept.delete(name)
  kept.set(name, answer)
  for (const oldest of kept.keys()) if (kept.size > KEPT_MAX) kept.delete(oldest)
}

function wait(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, delayMs)
    if (signal?.aborted === true) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
