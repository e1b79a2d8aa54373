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

/** Bytes of all of them, about. */
const BYTES_MAX = 16_000_000

/** What a header, or a name in the query, takes beside its characters. */
const PART_BYTES = 128

/** A browser's request has some 800. */
export const REQUEST_CHARACTERS_MAX = 2_048

/** GETs that were read before, by their very bytes: the same bytes mean the same request. */
export class KnownRequests {
  readonly #requests = new LRUCache<string, KnownRequest>({
    max: REQUESTS_MAX,
    maxSize: BYTES_MAX,
    sizeCalculation: (_request, text) => text.length + PART_BYTES * text.split(/[&\n]/).length,
  })

  find(text: string): KnownRequest | undefined {
    return this.#requests.get(text)
  }

  keep(text: string, request: KnownRequest): void {
    this.#requests.set(text, request)
  }
}
