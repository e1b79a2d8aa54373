import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { KEEP_ALIVE_HEADER } from './connections.ts'
import type { Incoming, Outgoing } from './exchange.ts'

export interface Stamp {
  readonly requestId: string
  readonly constant: readonly string[]
  readonly close: boolean
}

/** The only writer of answers; throws before writing if a header value is invalid. */
export function sendAnswer(reply: FastifyReply, outgoing: Outgoing, stamp: Stamp): FastifyReply {
  const { raw } = reply
  const headers = stampedHeaders(outgoing, stamp)
  if (!stamp.close && raw.shouldKeepAlive) headers.push(...KEEP_ALIVE_HEADER)
  if (hasBody(outgoing)) headers.push('Content-Length', String(Buffer.byteLength(outgoing.body)))
  // `reply.send` lower-cases header names; the contract does not.
  raw.writeHead(outgoing.status, headers)
  reply.hijack()
  raw.end(hasBody(outgoing) ? outgoing.body : undefined)
  return reply
}

/** The last answer on its connection. Rejects when the source does. */
export async function sendStream(
  reply: FastifyReply,
  outgoing: Outgoing & { readonly stream: NonNullable<Outgoing['stream']> },
  stamp: Stamp & { readonly signal: AbortSignal; readonly unreadMs: number },
): Promise<void> {
  const { raw } = reply
  raw.writeHead(outgoing.status, stampedHeaders(outgoing, stamp))
  reply.hijack()
  raw.flushHeaders()
  if (raw.req.method === 'HEAD') return void raw.end()
  for await (const chunk of outgoing.stream(stamp.signal)) {
    if (raw.destroyed) return
    if (chunk !== '' && !raw.write(chunk)) await drain(raw, stamp.unreadMs)
  }
  raw.end()
}

async function drain(raw: ServerResponse, unreadMs: number): Promise<void> {
  const late = setTimeout(() => raw.destroy(), unreadMs)
  const { promise, resolve } = Promise.withResolvers<void>()
  raw.once('drain', resolve).once('close', resolve)
  if (raw.destroyed) resolve()
  await promise
  raw.off('drain', resolve).off('close', resolve)
  clearTimeout(late)
}

export function stampedHeaders(outgoing: Outgoing, stamp: Stamp): string[] {
  const headers = [...outgoing.headers, ...stamp.constant, 'X-Request-Id', stamp.requestId]
  if (stamp.close) headers.push('Connection', 'close')
  return headers
}

export function sentBytes({ method }: Pick<Incoming, 'method'>, outgoing: Outgoing): number {
  return method !== 'HEAD' && hasBody(outgoing) ? Buffer.byteLength(outgoing.body) : 0
}

/** RFC 9110, 6.4.1. */
function hasBody({ status }: Outgoing): boolean {
  return status !== 204 && status !== 304
}
