import type { IncomingHttpHeaders } from 'node:http'

/** A request whose path, method, size and type are valid. */
export interface Incoming {
  /** Made by the server, never taken from a header. */
  readonly requestId: string
  readonly method: string
  /** Repeated headers are joined by commas, so that no value is hidden. */
  readonly headers: IncomingHttpHeaders
  /** TCP peer, possibly a proxy. */
  readonly socketAddress: string
  readonly path: Readonly<Record<string, string>>
  /** Every value of every query parameter, in order. */
  readonly query: ReadonlyMap<string, readonly string[]>
  /** Undefined without a body, BROKEN_BODY when unreadable. */
  readonly body: unknown
  /** Aborts when the client leaves or the server stops. */
  readonly signal: AbortSignal
}

/** Wire form, without the constant headers and the length. */
export interface Outgoing {
  readonly status: number
  /** Names and values in turn, as for `ServerResponse.writeHead`. */
  readonly headers: string[]
  readonly body: string | Uint8Array
}

export interface Endpoint {
  readonly method: 'GET' | 'POST'
  /** OpenAPI form: `/api/dividends/{address}`. GET also answers HEAD. */
  readonly path: string
  respond(incoming: Incoming): Promise<Outgoing> | Outgoing
}
