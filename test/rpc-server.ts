import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'

/** A JSON-RPC call as it came over the socket. */
export interface RpcCall {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** An HTTP server on a free port of 127.0.0.1. */
export interface LocalServer {
  readonly url: string
  /** Breaks open connections off. */
  stop(): Promise<void>
}

export async function startLocalServer(listener: RequestListener): Promise<LocalServer> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part)
  return Buffer.concat(parts)
}

/** Clients may leave out empty parameters. */
type SentCall = Omit<RpcCall, 'params'> & Partial<RpcCall>

/** The calls of a request, one or a batch, and the way to write their answers. */
export interface RpcRequest {
  readonly body: string
  readonly calls: readonly RpcCall[]
  readonly isBatch: boolean
  /** JSON of the answers: a list for a batch, else the only one. */
  answerWith(answers: readonly object[]): string
}

export async function readRpcRequest(incoming: IncomingMessage): Promise<RpcRequest> {
  const body = (await readBody(incoming)).toString('utf8')
  const asked: SentCall | readonly SentCall[] = JSON.parse(body)
  const isBatch = Array.isArray(asked)
  return {
    body,
    calls: [asked].flat().map((call) => ({ params: [], ...call })),
    isBatch,
    answerWith: (answers) => JSON.stringify(isBatch ? answers : answers[0]),
  }
}
