import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { answerRpc, type NodeState, RefusedCall } from './answer-rpc.ts'
import type { BuiltChain } from './built-chain.ts'
import { noFaults } from './faults.ts'

/** A made-up chain behind a real JSON-RPC socket; its chain and its faults can be switched. */
export interface ServedChain extends NodeState {
  readonly url: string
  /** Every method asked for so far, in order. */
  readonly methods: string[]
  stop(): Promise<void>
}

interface RpcCall {
  readonly id: number
  readonly method: string
  readonly params?: readonly unknown[]
}

/** Serves a chain on a free port of 127.0.0.1. */
export async function serveChain(
  chain: BuiltChain,
  depths: { readonly safeDepth?: number; readonly finalDepth?: number } = {},
): Promise<ServedChain> {
  const methods: string[] = []
  const { safeDepth = 4, finalDepth = 8 } = depths
  const node: NodeState = { chain, safeDepth, finalDepth, faults: noFaults() }
  const server = createServer((incoming, outgoing) => {
    answer(node, methods, incoming, outgoing).catch((error: unknown) =>
      outgoing.destroy(toError(error)),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return Object.assign(node, {
    url: `http://127.0.0.1:${port}`,
    methods,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

async function answer(
  node: NodeState,
  methods: string[],
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part)
  const body: RpcCall | readonly RpcCall[] = JSON.parse(Buffer.concat(parts).toString('utf8'))
  const calls = [body].flat() as readonly RpcCall[]
  methods.push(...calls.map((call) => call.method))
  const results = calls.map((call) => answerCall(node, call))
  const text = JSON.stringify(Array.isArray(body) ? results : results[0])
  send(node, outgoing, text)
}

function answerCall(node: NodeState, call: RpcCall): object {
  const common = { jsonrpc: '2.0', id: call.id }
  try {
    return { ...common, result: answerRpc(node, call.method, call.params ?? []) }
  } catch (error) {
    if (!(error instanceof RefusedCall)) throw error
    return { ...common, error: { code: error.code, message: error.message } }
  }
}

function send({ faults }: NodeState, outgoing: ServerResponse, text: string): void {
  const { transport } = faults
  const kind = transport !== undefined && transport.times > 0 ? transport.kind : 'right'
  if (transport !== undefined) transport.times -= 1
  const json = { 'content-type': 'application/json' }
  switch (kind) {
    case 'right':
      outgoing.writeHead(200, json).end(text)
      break
    case 'rate-limit':
      outgoing.writeHead(429, json).end('{"error":{"code":-32005,"message":"Too many requests"}}')
      break
    case 'html':
      outgoing.writeHead(200, { 'content-type': 'text/html' }).end('<html>Bad gateway</html>')
      break
    case 'truncated':
      outgoing.writeHead(200, json).end(text.slice(0, text.length / 2))
      break
  }
}
