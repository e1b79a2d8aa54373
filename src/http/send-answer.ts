import type { FastifyReply } from 'fastify'
import { KEEP_ALIVE_HEADER } from './connections.ts'
import type { Outgoing } from './exchange.ts'

/** What an answer gets besides its own headers. */
export interface Stamp {
  readonly requestId: string
  /** Headers of every answer, names and values in turn. */
  readonly constant: readonly string[]
  /** Whether the connection ends with this answer. */
  readonly close: boolean
}

/** Writes every answer; throws before anything is written when a header value is invalid. */
export function sendAnswer(reply: FastifyReply, outgoing: Outgoing, stamp: Stamp): FastifyReply {
  const { raw } = reply
  const headers = stampedHeaders(outgoing, stamp)
  if (!stamp.close && raw.shouldKeepAlive) headers.push(...KEEP_ALIVE_HEADER)
  if (hasBody(outgoing)) headers.push('Content-Length', String(Buffer.byteLength(outgoing.body)))
  // Not `reply.send`: it writes names in lower case, and the contract does not.
  raw.writeHead(outgoing.status, headers)
  reply.hijack()
  raw.end(hasBody(outgoing) ? outgoing.body : undefined)
  return reply
}

/** Headers of an answer without its length, names and values in turn. */
export function stampedHeaders(outgoing: Outgoing, stamp: Stamp): string[] {
  const headers = [...outgoing.headers, ...stamp.constant, 'X-Request-Id', stamp.requestId]
  if (stamp.close) headers.push('Connection', 'close')
  return headers
}

/** Whether an answer of this status has a body, be it empty (RFC 9110, 6.4.1). */
function hasBody({ status }: Outgoing): boolean {
  return status !== 204 && status !== 304
}
