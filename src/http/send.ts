import type { ServerResponse } from 'node:http'
import { CONSTANT_HEADERS } from './constant-headers.ts'
import type { Outgoing } from './exchange.ts'

/**
 * Writes an answer. Every response of the server, errors and refusals before routing included,
 * leaves through here, so that none can miss a constant header. Node drops the body of a HEAD.
 */
export function send(
  response: ServerResponse,
  outgoing: Outgoing,
  more: { readonly requestId: string; readonly close: boolean },
): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(outgoing.status, stampedHeaders(outgoing, more))
  response.end(outgoing.status === 204 || outgoing.status === 304 ? undefined : outgoing.body)
}

/** The complete header list, names and values in turn. */
export function stampedHeaders(
  { status, headers, body }: Outgoing,
  { requestId, close }: { readonly requestId: string; readonly close: boolean },
): string[] {
  headers.push(...CONSTANT_HEADERS, 'X-Request-Id', requestId)
  if (status !== 204 && status !== 304)
    headers.push('Content-Length', String(Buffer.byteLength(body)))
  if (close) headers.push('Connection', 'close')
  return headers
}
