import { once } from 'node:events'
import { createServer } from 'node:http'
import type { WireBlock } from './full-blocks.ts'

/** A node whose head a benchmark moves. */
export interface BlockServer {
  readonly url: string
  head: number
  stop(): Promise<void>
}

interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** Serves made blocks as JSON-RPC on a free port of 127.0.0.1; logs of ours are all that its lists hold. */
export async function serveBlocks(
  chainId: number,
  blocks: readonly WireBlock[],
  addresses: ReadonlySet<string>,
): Promise<BlockServer> {
  const state = { head: 0 }
  const byHash = new Map(blocks.map((each) => [each.block.hash, each]))
  const ofHash = (hash: unknown) => byHash.get(hash as WireBlock['block']['hash'])
  const answer = ({ method, params }: Call): unknown => {
    const [first] = params
    if (method === 'eth_chainId') return `0x${chainId.toString(16)}`
    if (method === 'eth_getBlockByNumber')
      return blocks[first === 'latest' ? state.head : Number(first)]?.block ?? null
    if (method === 'eth_getBlockByHash') return ofHash(first)?.block ?? null
    if (method === 'eth_getBlockReceipts') return ofHash(first)?.receipts ?? null
    if (method === 'eth_getLogs') return logsOf(ofHash((first as { blockHash: string }).blockHash))
    return null
  }
  const logsOf = (block: WireBlock | undefined) =>
    (block?.receipts ?? [])
      .flatMap((receipt) => (receipt as { readonly logs: readonly { address: string }[] }).logs)
      .filter(({ address }) => addresses.has(address))
  const server = createServer(async (incoming, outgoing) => {
    const parts: Buffer[] = []
    for await (const part of incoming) parts.push(part)
    const asked: Call | readonly Call[] = JSON.parse(Buffer.concat(parts).toString('utf8'))
    const told = [asked]
      .flat()
      .map((call) => ({ jsonrpc: '2.0', id: call.id, result: answer(call) }))
    outgoing.setHeader('content-type', 'application/json')
    outgoing.end(JSON.stringify(Array.isArray(asked) ? told : told[0]))
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
