import type { IncomingMessage, ServerResponse } from 'node:http'
import { type LocalServer, readBody, startLocalServer } from './rpc-server.ts'

/** One address behind which several nodes answer by turns, as behind a load balancer. */
export interface AlternatingProxy extends LocalServer {
  /** Nodes to ask by turns, request by request; without any, connections break off. */
  targets: readonly string[]
  /** Requests passed on so far. */
  readonly requests: number
}

/** Starts a proxy on a free port of 127.0.0.1. */
export async function startAlternatingProxy(
  targets: readonly string[] = [],
): Promise<AlternatingProxy> {
  const state = { targets, requests: 0 }
  const server = await startLocalServer((incoming, outgoing) => {
    const target = state.targets[state.requests % Math.max(1, state.targets.length)]
    if (target === undefined) return void outgoing.destroy()
    state.requests += 1
    passOn(target, incoming, outgoing).catch(() => void outgoing.destroy())
  })
  return Object.assign(state, server)
}

async function passOn(
  target: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const answer = await fetch(target, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: await readBody(incoming),
  })
  const body = Buffer.from(await answer.arrayBuffer())
  outgoing.writeHead(answer.status, { 'content-type': 'application/json' }).end(body)
}
