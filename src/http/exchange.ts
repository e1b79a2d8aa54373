import type { IncomingHttpHeaders } from 'node:http'

/** One request as the server hands it on: path, method, size and type are already right. */
export interface Incoming {
  /** Made by the server, never taken from a header. */
  readonly requestId: string
  readonly method: string
  /** A repeated header is joined by commas, so that no value hides behind the first. */
  readonly headers: IncomingHttpHeaders
  /** Address of the peer of the TCP connection, which may be a proxy. */
  readonly socketAddress: string
  readonly path: Readonly<Record<string, string>>
  /** Every value of every query parameter, in order. */
  readonly query: ReadonlyMap<string, readonly string[]>
  /** Parsed JSON; undefined when the request has none, BROKEN_BODY when it cannot be read. */
  readonly body: unknown
  /** Aborts when the client goes away or the server stops. */
  readonly signal: AbortSignal
}

/** What leaves, in wire form. `send` adds the constant headers and the length. */
export interface Outgoing {
  readonly status: number
  /** Names and values in turn, as `ServerResponse.writeHead` takes them. */
  readonly headers: string[]
  readonly body: string | Uint8Array
}

/** One method of one path and what answers it. */
export interface Endpoint {
  readonly method: 'GET' | 'POST'
  /** OpenAPI form: `/api/dividends/{address}`. A GET endpoint answers HEAD too. */
  readonly path: string
  respond(incoming: Incoming): Promise<Outgoing> | Outgoing
}
