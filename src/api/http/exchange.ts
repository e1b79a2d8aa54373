import type { IncomingHttpHeaders } from 'node:http'

export interface Incoming {
  /** Never taken from a header. */
  readonly requestId: string
  readonly method: string
  /** Repeated headers are joined by commas, so that none is hidden. */
  readonly headers: IncomingHttpHeaders
  /** TCP peer, possibly a proxy. */
  readonly socketAddress: string
  readonly path: Readonly<Record<string, string>>
  readonly query: ReadonlyMap<string, readonly string[]>
  /** BROKEN_BODY when unreadable. */
  readonly body: unknown
  readonly signal: AbortSignal
  /** Whether no answer can reach the client any more. */
  isCut(): boolean
}

export interface Outgoing {
  readonly status: number
  /** Names and values in turn, as for `ServerResponse.writeHead`. */
  readonly headers: string[]
  readonly body: string | Uint8Array
  /** Replaces the body; pulled as the client reads. */
  readonly stream?: (signal: AbortSignal) => AsyncIterable<string | Buffer>
}

export interface Answered {
  readonly incoming: Incoming
  /** Undefined: no endpoint answered. */
  readonly route: string | undefined
  readonly status: number
  readonly bytes: number
  readonly durationMs: number
}

export interface HttpEndpoint {
  readonly method: 'GET' | 'POST'
  /** OpenAPI form: `/api/dividends/{address}`. GET also answers HEAD. */
  readonly path: string
  respond(incoming: Incoming): Promise<Outgoing> | Outgoing
}
