import {
  type LocalServer,
  type RpcCall,
  readRpcRequest,
  startLocalServer,
} from '#test/rpc-server.ts'
import type { WireBlock } from './full-blocks.ts'

/** A node whose head the benchmark moves. */
export interface BlockServer extends LocalServer {
  head: number
}

/** Serves made-up blocks as JSON-RPC on a free port of 127.0.0.1; eth_getLogs returns only our logs. */
export async function serveBlocks(
  chainId: number,
  blocks: readonly WireBlock[],
  addresses: ReadonlySet<string>,
): Promise<BlockServer> {
  const state = { head: 0 }
  const byHash = new Map(blocks.map((each) => [each.block.hash, each]))
  const ofHash = (hash: unknown) => byHash.get(hash as WireBlock['block']['hash'])
  const answer = ({ method, params }: RpcCall): unknown => {
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
  const server = await startLocalServer(async (incoming, outgoing) => {
    const { calls, answerWith } = await readRpcRequest(incoming)
    const answers = calls.map((call) => ({ jsonrpc: '2.0', id: call.id, result: answer(call) }))
    outgoing.setHeader('content-type', 'application/json')
    outgoing.end(answerWith(answers))
  })
  return Object.assign(state, server)
}
