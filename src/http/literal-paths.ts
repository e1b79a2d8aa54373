import type { IncomingMessage } from 'node:http'
import type { Endpoint } from './exchange.ts'
import { parseQuery, type Query } from './parse-query.ts'

interface Found {
  readonly endpoint: Endpoint
  readonly query: Query
}

/** The same few addresses are asked for again and again; longer ones are nobody's standing question. */
const KNOWN_MAX = 1_000
const KNOWN_CHARACTERS_MAX = 150

/**
 * GET endpoints whose path has no parameters, by the very text of the path. What comes again gets one
 * and the same query.
 */
export class LiteralPaths {
  readonly #endpoints: ReadonlyMap<string, Endpoint>
  readonly #known = new Map<string, Found>()

  constructor(endpoints: readonly Endpoint[]) {
    const literal = endpoints.filter(({ method, path }) => method === 'GET' && !path.includes('{'))
    this.#endpoints = new Map(literal.map((endpoint) => [endpoint.path, endpoint]))
  }

  /** The endpoint that a GET or HEAD means; other methods and spellings are found by the router. */
  find({ method, url = '' }: Pick<IncomingMessage, 'method' | 'url'>): Found | undefined {
    if (method !== 'GET' && method !== 'HEAD') return undefined
    const known = this.#known.get(url)
    if (known !== undefined) return known
    const found = this.#read(url)
    if (found !== undefined && url.length <= KNOWN_CHARACTERS_MAX) {
      if (this.#known.size >= KNOWN_MAX) this.#known.clear()
      this.#known.set(url, found)
    }
    return found
  }

  #read(url: string): Found | undefined {
    const end = url.indexOf('?')
    const endpoint = this.#endpoints.get(end === -1 ? url : url.slice(0, end))
    if (endpoint === undefined) return undefined
    return { endpoint, query: parseQuery(end === -1 ? '' : url.slice(end + 1)) }
  }
}
