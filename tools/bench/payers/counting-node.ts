import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface CountingNode {
  readonly url: string
  calls: number
  follow(rpcUrl: string): void
  stop(): void
}

/** Passes every request on to a node, and counts its calls. */
export async function startCountingNode(): Promise<CountingNode> {
  const agent = new Agent({ keepAlive: true })
  const headers = { 'Content-Type': 'application/json' }
  let target = ''
  const server = createServer(async (incoming, response) => {
    const body = await read(incoming)
    node.calls += [JSON.parse(body)].flat().length
    const passed = request(target, { method: 'POST', headers, agent }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    passed.end(body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const node: CountingNode = {
    url: `http://127.0.0.1:${port}`,
    calls: 0,
    follow(rpcUrl) {
      target = rpcUrl
    },
    stop() {
      server.closeAllConnections()
      server.close()
      agent.destroy()
    },
  }
  return node
}

async function read(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}
