import { cards } from '#data/cards.ts'

/** What the builder offers: the metered endpoints with their parameters. */
export interface Endpoint {
  readonly path: string
  /** First values; empty ones are left out. */
  readonly parameters: Readonly<Record<string, string>>
}

export const ENDPOINTS: readonly Endpoint[] = [
  { path: '/api/stats', parameters: {} },
  { path: '/api/stats/history', parameters: { metric: 'supply', period: '7d', token: '' } },
  ...cards.flatMap(({ requests }) =>
    Object.entries(requests).map(([path, parameters]) => ({ path, parameters })),
  ),
  { path: '/api/usage', parameters: {} },
]

/** Path and query of a request. */
export function targetOf(path: string, values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams()
  let target = path
  for (const [name, value] of Object.entries(values)) {
    if (target.includes(`{${name}}`))
      target = target.replace(`{${name}}`, encodeURIComponent(value))
    else if (value !== '') query.set(name, value)
  }
  return query.size === 0 ? target : `${target}?${query}`
}
