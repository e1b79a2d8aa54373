import type { IncomingHttpHeaders } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Endpoint } from '../exchange.ts'

/** What a GET means, as Node and the router have read it. */
export interface KnownRequest {
  readonly endpoint: Endpoint
  readonly headers: IncomingHttpHeaders
  /** Parameters in the path by name. */
  readonly params: unknown
  readonly query: unknown
}

/** Different requests that come again and again, from all clients. */
const REQUESTS_MAX = 10_000

/** Characters of all of them. */
const CHARACTERS_MAX = 8_000_000

/** A browser's request has some 800. */
export const REQUEST_CHARACTERS_MAX = 2_048

/** GETs that were read before, by their very bytes: the same bytes mean the same request. */
export class KnownRequests {
  readonly #requests = new LRUCache<string, KnownRequest>({
    max: REQUESTS_MAX,
    maxSize: CHARACTERS_MAX,
    sizeCalculation: (_request, text) => text.length,
  })

  find(text: string): KnownRequest | undefined {
    return this.#requests.get(text)
  }

  keep(text: string, request: KnownRequest): void {
    this.#requests.set(text, request)
  }
}
