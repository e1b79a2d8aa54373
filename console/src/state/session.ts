import { useEffect, useState } from 'preact/hooks'
import { type Client, createClient, type Quota } from 'sexton-client'

/** The person's key lives here, in memory, and nowhere else. */
let secret: string | undefined
let client = newClient()
let quota: Quota | undefined
const listeners = new Set<() => void>()

function newClient(): Client {
  return createClient({
    baseUrl: location.origin,
    retries: 1,
    retryAfterSecondsMax: 5,
    ...(secret !== undefined && { key: secret }),
    fetch: notedFetch,
  })
}

async function notedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const sent = secret
  const response = await fetch(input, init)
  note(response)
  if (response.status === 401 && sent === secret && (await isRefused(response)))
    takeSecret(undefined)
  return response
}

/** One GET with the person's key, answered as the server sends it. */
export function fetchAsIs(target: string): Promise<Response> {
  return notedFetch(target, {
    headers: {
      Accept: 'application/json',
      ...(secret !== undefined && { Authorization: `Bearer ${secret}` }),
    },
  })
}

/** A key that was revoked elsewhere, or mistyped; every further call with it would fail too. */
async function isRefused(response: Response): Promise<boolean> {
  const problem = await response
    .clone()
    .json()
    .catch(() => undefined)
  return problem?.error === 'invalid_api_key'
}

/** Every answer says what is left. */
function note({ headers }: Response): void {
  const limit = headers.get('x-ratelimit-limit')
  const remaining = headers.get('x-ratelimit-remaining')
  if (limit === null || remaining === null) return
  quota = {
    limit: Number(limit),
    remaining: Number(remaining),
    resetUnix: Number(headers.get('x-ratelimit-reset')),
    tier: headers.get('x-ratelimit-tier') ?? '',
  }
  for (const listener of listeners) listener()
}

/** Calls with the person's key, or with none. */
export function sexton(): Client {
  return client
}

/** What a wallet signs for needs no key, and must not fail with one that was revoked. */
export const keyless = createClient({
  baseUrl: location.origin,
  retries: 1,
  retryAfterSecondsMax: 5,
})

/** Whether the secret in use is of this key. */
export function isInUse(publicId: string): boolean {
  return secret?.split('_').at(-2) === publicId
}

export function secretInUse(): string | undefined {
  return secret
}

export function takeSecret(next: string | undefined): void {
  secret = next
  client = newClient()
  // What is left belongs to who paid before.
  quota = undefined
  for (const listener of listeners) listener()
}

/** What is left of the day, as of the last answer; re-renders when it changes. */
export function useQuota(): { readonly quota: Quota | undefined; readonly hasKey: boolean } {
  const [, setCount] = useState(0)
  useEffect(() => {
    const listener = () => setCount((count) => count + 1)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  return { quota, hasKey: secret !== undefined }
}
