import { fetchAsIs } from '../state/session.ts'

export interface Sent {
  readonly status: number
  readonly tookMs: number
  /** Indented where it is JSON. */
  readonly text: string
  /** Those that tell what a call costs and what to do next. */
  readonly headers: readonly (readonly [string, string])[]
  readonly paidBy: 'quota' | 'prepaid' | null
}

const SHOWN = /^(x-ratelimit-|retry-after|payment-|www-authenticate|x-request-id)/

/** Sends any GET with the person's key; a refusal is an answer too, shown as it came. */
export async function send(target: string): Promise<Sent> {
  const startedMs = performance.now()
  const response = await fetchAsIs(target)
  const text = await response.text()
  const source = response.headers.get('x-ratelimit-source')
  return {
    status: response.status,
    tookMs: Math.round(performance.now() - startedMs),
    text: indented(text),
    headers: [...response.headers].filter(([name]) => SHOWN.test(name)),
    paidBy: source === 'quota' || source === 'prepaid' ? source : null,
  }
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
