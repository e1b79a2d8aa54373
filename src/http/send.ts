import type { ServerResponse } from 'node:http'
import type { Outgoing } from './exchange.ts'
import type { HeadWriter, Stamp } from './head-writer.ts'

/**
 * Writes an answer. Every response of the server, errors and refusals before routing included,
 * leaves through here, so that none can miss a constant header. Node drops the body of a HEAD.
 */
export function send(
  heads: HeadWriter,
  response: ServerResponse,
  { outgoing, stamp }: { readonly outgoing: Outgoing; readonly stamp: Stamp },
): void {
  if (response.headersSent || response.destroyed) return
  heads.write(response, outgoing, stamp)
  response.end(outgoing.status === 204 || outgoing.status === 304 ? undefined : outgoing.body)
}
