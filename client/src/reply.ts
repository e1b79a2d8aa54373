/** What the caller has left today. */
export interface Quota {
  readonly limit: number
  readonly remaining: number
  readonly resetUnix: number
  readonly tier: string
}

/** What an answer cost: a call of the day, one paid from the balance, or nothing. */
export interface Cost {
  readonly calls: 0 | 1
  readonly paidBy: 'quota' | 'prepaid' | null
}

export interface Reply<Data, Meta = undefined> {
  readonly data: Data
  /** As of which blocks, and the page. */
  readonly meta: Meta
  readonly status: number
  /** Undefined where something in between removed the headers. */
  readonly quota: Quota | undefined
  readonly cost: Cost
  readonly etag: string | undefined
  readonly requestId: string | undefined
}

/** As the OpenAPI document promises; nothing is checked at run time. */
type Body<Data, Meta> = { readonly data: Data; readonly meta: Meta }

/** The figures of one response; a body without `meta` is data as a whole. */
export function replyOf<Data, Meta>(response: Response, body: unknown): Reply<Data, Meta> {
  const { data, meta } = (isWrapped(body) ? body : { data: body }) as Body<Data, Meta>
  const { headers, status } = response
  return {
    data,
    meta,
    status,
    quota: quotaOf(headers),
    cost: costOf(headers),
    etag: headers.get('etag') ?? undefined,
    requestId: headers.get('x-request-id') ?? undefined,
  }
}

function isWrapped(body: unknown): body is { readonly data: unknown; readonly meta: unknown } {
  return typeof body === 'object' && body !== null && 'data' in body && 'meta' in body
}

function quotaOf(headers: Headers): Quota | undefined {
  const [limit, remaining, resetUnix, tier] = ['Limit', 'Remaining', 'Reset', 'Tier'].map((name) =>
    headers.get(`X-RateLimit-${name}`),
  )
  if (!limit || !remaining || !resetUnix || !tier) return undefined
  return {
    limit: Number(limit),
    remaining: Number(remaining),
    resetUnix: Number(resetUnix),
    tier,
  }
}

function costOf(headers: Headers): Cost {
  const source = headers.get('x-ratelimit-source')
  if (source === 'quota' || source === 'prepaid') return { calls: 1, paidBy: source }
  return { calls: 0, paidBy: null }
}
