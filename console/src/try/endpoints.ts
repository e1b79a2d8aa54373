/** What the builder offers: the metered endpoints with their parameters. */
export interface Endpoint {
  readonly path: string
  /** First values; empty ones are left out. */
  readonly parameters: Readonly<Record<string, string>>
}

export const ENDPOINTS: readonly Endpoint[] = [
  { path: '/api/stats', parameters: {} },
  { path: '/api/stats/history', parameters: { metric: 'supply', period: '7d', token: '' } },
  { path: '/api/burns', parameters: { period: '7d', chain: '', token: '' } },
  { path: '/api/burns/total', parameters: { token: '' } },
  { path: '/api/burns/recent', parameters: { limit: '5', chain: '', token: '', cursor: '' } },
  { path: '/api/dividends/total', parameters: {} },
  { path: '/api/dividends/recent', parameters: { limit: '5', chain: '', token: '', cursor: '' } },
  { path: '/api/dividends/{address}', parameters: { address: '', limit: '5', token: '' } },
  { path: '/api/grave-digs', parameters: { limit: '5', chain: '', cursor: '' } },
  { path: '/api/grave-digs/leaderboard', parameters: { limit: '10', token: '' } },
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
