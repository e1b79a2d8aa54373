import type { IncomingMessage } from 'node:http'
import type { Endpoint } from './exchange.ts'
import type { Query } from './parse-query.ts'

interface Found {
  readonly endpoint: Endpoint
  readonly query: Query
}

/** GET endpoints whose path has no parameters, by the very text of the path. */
export class LiteralPaths {
  readonly #endpoints: ReadonlyMap<string, Endpoint>
  readonly #parseQuery: (text: string) => Query

  constructor(endpoints: readonly Endpoint[], parseQuery: (text: string) => Query) {
    const literal = endpoints.filter(({ method, path }) => method === 'GET' && !path.includes('{'))
    this.#endpoints = new Map(literal.map((endpoint) => [endpoint.path, endpoint]))
    this.#parseQuery = parseQuery
  }

  /** The endpoint that a GET or HEAD means; other methods and spellings are found by the router. */
  find({ method, url = '' }: Pick<IncomingMessage, 'method' | 'url'>): Found | undefined {
    if (method !== 'GET' && method !== 'HEAD') return undefined
    const end = url.indexOf('?')
    const endpoint = this.#endpoints.get(end === -1 ? url : url.slice(0, end))
    if (endpoint === undefined) return undefined
    return { endpoint, query: this.#parseQuery(end === -1 ? '' : url.slice(end + 1)) }
  }
}
