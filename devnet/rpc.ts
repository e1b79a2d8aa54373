import { Agent, request as httpRequest } from 'node:http'

export interface RpcCall {
  readonly method: string
  readonly params?: readonly unknown[]
}

export interface Rpc {
  /** Throws RpcError if the node refuses. */
  send(call: RpcCall): Promise<unknown>
  /** One request; results in order. Throws if one call fails. */
  sendBatch(calls: readonly RpcCall[]): Promise<readonly unknown[]>
  close(): void
}

/** JSON-RPC 2.0, 5.1. */
export class RpcError extends Error {
  override name = 'RpcError'
}

/**
 * Keep-alive HTTP instead of viem's transport, because history sends tens of thousands of calls.
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

// Dumping a long-lived chain takes seconds.
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
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      // The node closed an idle connection while the request was on its way (Node docs, reusedSocket).
      const isStale = outgoing.reusedSocket && error.code === 'ECONNRESET'
      if (isStale) resolve(exchange(agent, url, body))
      else reject(error)
    })
    outgoing.end(body)
  })
}
