import { Agent, request as httpRequest } from 'node:http'

/** One JSON-RPC call: the method and its parameters. */
export interface RpcCall {
  readonly method: string
  readonly params?: readonly unknown[]
}

/** A JSON-RPC connection to one local node. */
export interface Rpc {
  /** Gives the result of one call; throws RpcError when the node refuses it. */
  send(call: RpcCall): Promise<unknown>
  /** Gives the results of many calls, in their order, from one request; throws if one fails. */
  sendBatch(calls: readonly RpcCall[]): Promise<readonly unknown[]>
  /** Drops the idle connections. */
  close(): void
}

/** A call that the node answered with an error object (JSON-RPC 2.0 section 5.1). */
export class RpcError extends Error {
  override name = 'RpcError'
}

/**
 * Opens a JSON-RPC connection over HTTP with kept-alive sockets.
 * Written out instead of viem's transport, because building history sends tens of thousands of calls.
 */
export function openRpc(url: string): Rpc {
  const agent = new Agent({ keepAlive: true })
  return {
    async send(call) {
      const [result] = await post(agent, url, [call])
      return result
    },
    sendBatch(calls) {
      return calls.length === 0 ? Promise.resolve([]) : post(agent, url, calls)
    },
    close() {
      agent.destroy()
    },
  }
}

// A dump of a long-lived chain takes seconds; nothing a local node does takes a minute.
const requestTimeoutMs = 60_000

interface RpcAnswer {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

async function post(
  agent: Agent,
  url: string,
  calls: readonly RpcCall[],
): Promise<readonly unknown[]> {
  const body = JSON.stringify(
    calls.map((call, id) => ({
      jsonrpc: '2.0',
      id,
      method: call.method,
      params: call.params ?? [],
    })),
  )
  const answers: RpcAnswer[] = JSON.parse(await exchange(agent, url, body))
  if (!Array.isArray(answers)) throw new RpcError(`unexpected answer from ${url}`)
  const results = new Array<unknown>(calls.length)
  for (const answer of answers) {
    if (answer.error !== undefined) {
      throw new RpcError(`${calls[answer.id]?.method}: ${answer.error.message}`)
    }
    results[answer.id] = answer.result
  }
  return results
}

function exchange(agent: Agent, url: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      url,
      {
        agent,
        method: 'POST',
        timeout: requestTimeoutMs,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      },
      (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
        incoming.on('error', reject)
      },
    )
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer from ${url}`)))
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
