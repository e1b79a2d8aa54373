import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/** One address behind which several nodes answer by turns, as behind a load balancer. */
export interface AlternatingProxy {
  readonly url: string
  /** Nodes to ask by turns, request by request; without any, connections break off. */
  targets: readonly string[]
  /** Requests passed on so far. */
  readonly requests: number
  stop(): Promise<void>
}

/** Starts a proxy on a free port of 127.0.0.1. */
export async function startAlternatingProxy(
  targets: readonly string[] = [],
): Promise<AlternatingProxy> {
  const state = { targets, requests: 0 }
  const server = createServer((incoming, outgoing) => {
    const target = state.targets[state.requests % Math.max(1, state.targets.length)]
    if (target === undefined) return void outgoing.destroy()
    state.requests += 1
    passOn(target, incoming, outgoing).catch(() => void outgoing.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return Object.assign(state, {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}

async function passOn(
  target: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part)
  const answer = await fetch(target, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: Buffer.concat(parts),
  })
  const body = Buffer.from(await answer.arrayBuffer())
  outgoing.writeHead(answer.status, { 'content-type': 'application/json' }).end(body)
}
