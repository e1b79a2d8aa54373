import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { isJSONRPCRequest, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'

export async function runMcpProxy({
  url,
  key,
}: {
  readonly url: string
  readonly key: string | undefined
}): Promise<void> {
  const headers = key === undefined ? {} : { Authorization: `Bearer ${key}` }
  const service: Transport = new StreamableHTTPClientTransport(new URL('/mcp', url), {
    requestInit: { headers },
  })
  const client = new StdioServerTransport()
  const ended = Promise.withResolvers<void>()
  client.onclose = () => ended.resolve()
  client.onmessage = (message) => void passOn(service, client, message)
  service.onmessage = (message) => void client.send(message)
  await service.start()
  await client.start()
  // The transport does not watch for the end of its input.
  process.stdin.once('end', () => ended.resolve())
  await ended.promise
  await service.close()
}

/** A client must get an answer to each request, also when the service is away. */
async function passOn(
  service: Transport,
  client: Transport,
  message: JSONRPCMessage,
): Promise<void> {
  try {
    await service.send(message)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    process.stderr.write(`sexton: the service did not answer: ${reason}\n`)
    if (!isJSONRPCRequest(message)) return
    const failure = { code: -32_000, message: `the service did not answer: ${reason}` }
    await client.send({ jsonrpc: '2.0', id: message.id, error: failure })
  }
}
