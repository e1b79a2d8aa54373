import type { ProvenBlock, SourceLog } from '#chain/chain-source.ts'
import { callSource } from '#chain/endpoints/call-source.ts'
import { openPost, type Post } from '#chain/endpoints/http-post.ts'
import { parseBlock, parseBytes, parseLogs } from '#chain/parse-rpc.ts'
import type { Witness } from '#chain/proofs/prove-logs.ts'
import type { Address, Hash } from '#domain/address.ts'
import type { BlockHeader, BlockRef } from '#domain/chain.ts'

/** No node answered: whether something was done there is not known. */
export class NodeUnreachable extends Error {
  override readonly name = 'NodeUnreachable'
}

/** A node answered with an error object (JSON-RPC 2.0 section 5.1). */
export class NodeRefusal extends Error {
  override readonly name = 'NodeRefusal'
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** A sealed transaction. */
export interface Receipt {
  readonly from: Address
  readonly succeeded: boolean
  readonly blockNumber: number
  readonly blockHash: Hash
  readonly logs: readonly SourceLog[]
  /** What it cost, in wei. */
  readonly paidWei: bigint
}

export interface LogQuery {
  readonly address: Address
  readonly topics: readonly (Hash | readonly Hash[])[]
  readonly fromBlock: number
  /** Without it to the newest block. */
  readonly toBlock?: number
}

/** `at` is a block's number: a node that does not have it yet throws instead of telling of an older one. */
export interface CallInput {
  readonly from?: Address
  readonly to: Address
  readonly data: Hash
  readonly at?: number
}

/** What settling asks of the payment chain's nodes; every answer is parsed. */
export interface SettlingRpc {
  /** Wei per gas of the newest block, and the tip that the node proposes. */
  gasPrice(): Promise<{ readonly baseFee: bigint; readonly tip: bigint }>
  /** Wei. */
  balance(account: Address): Promise<bigint>
  /** Transactions of an account that are sealed, up to a block or the newest. */
  transactionCount(account: Address, at?: number): Promise<number>
  /** Runs a call at a block or the newest; throws NodeRefusal when it reverts. */
  call(input: CallInput): Promise<Hash>
  /** Throws NodeRefusal when the node does not take it. */
  send(raw: `0x${string}`): Promise<void>
  receipt(txHash: Hash): Promise<Receipt | undefined>
  header(blockNumber: number | 'latest'): Promise<BlockHeader | undefined>
  logs(query: LogQuery): Promise<readonly SourceLog[]>
  /** Every log of a block, proven against its hash; throws EndpointError `unproven`. */
  provenBlock(ref: BlockRef): Promise<ProvenBlock>
  /** The single nodes. */
  readonly witnesses: readonly Witness[]
}

/** A healthy node answers a small call well within this time. */
const CALL_TIMEOUT_MS = 5_000

/** Asks the nodes of one chain in their order; the next one only when one does not answer. */
export function openSettlingRpc(chain: {
  readonly id: number
  readonly rpcUrls: readonly string[]
}): SettlingRpc {
  const posts = chain.rpcUrls.map(openPost)
  const nodes = chain.rpcUrls.map((url) => witness(chain.id, url))
  const ask = (method: string, ...params: unknown[]) => askInTurn(posts, { method, params })
  return {
    async gasPrice() {
      const [block, tip] = await Promise.all([
        ask('eth_getBlockByNumber', 'latest', false),
        ask('eth_maxPriorityFeePerGas'),
      ])
      return { baseFee: wei(member(block, 'baseFeePerGas')), tip: wei(tip) }
    },
    balance: async (account) => wei(await ask('eth_getBalance', account, 'latest')),
    transactionCount: async (account, at) =>
      Number(wei(await ask('eth_getTransactionCount', account, toBlock(at)))),
    call: async ({ at, ...input }) => parseBytes(await ask('eth_call', input, toBlock(at))),
    send: async (raw) => {
      await ask('eth_sendRawTransaction', raw)
    },
    receipt: async (txHash) =>
      parseReceipt(await ask('eth_getTransactionReceipt', txHash), chain.id),
    header: async (block) => parseBlock(await ask('eth_getBlockByNumber', toBlock(block), false)),
    logs: async ({ address, topics, fromBlock, toBlock: last }) => {
      const filter = { address, topics, fromBlock: toBlock(fromBlock), toBlock: toBlock(last) }
      return parseLogs(await ask('eth_getLogs', filter), chain.id)
    },
    provenBlock: (ref) =>
      firstProof(
        nodes.map(
          ({ source }) =>
            () =>
              source.provenBlock(ref),
        ),
      ),
    witnesses: nodes,
  }
}

function witness(chainId: number, url: string) {
  const post = openPost(url)
  const isRefusal = (error: unknown) => error instanceof NodeRefusal
  const source = callSource(chainId, (call) => askOne(post, call), isRefusal)
  return { host: new URL(url).host, source }
}

async function firstProof(tries: readonly (() => Promise<ProvenBlock>)[]): Promise<ProvenBlock> {
  let last: unknown
  for (const prove of tries) {
    try {
      return await prove()
    } catch (error) {
      last = error
    }
  }
  throw last
}

interface Call {
  readonly method: string
  readonly params: readonly unknown[]
}

async function askInTurn(posts: readonly Post[], call: Call): Promise<unknown> {
  let last: unknown
  for (const post of posts) {
    try {
      return await askOne(post, call)
    } catch (error) {
      if (error instanceof NodeRefusal) throw error
      last = error
    }
  }
  throw new NodeUnreachable(`no node answers ${call.method}`, { cause: last })
}

async function askOne(post: Post, { method, params }: Call): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const answer = await post(body, { timeoutMs: CALL_TIMEOUT_MS })
  const parsed: unknown = JSON.parse(answer.body.toString('utf8'))
  if (typeof parsed !== 'object' || parsed === null)
    throw new Error(`${method}: no JSON-RPC answer`)
  if ('error' in parsed && typeof parsed.error === 'object' && parsed.error !== null) {
    const code = 'code' in parsed.error ? Number(parsed.error.code) : 0
    const message = 'message' in parsed.error ? String(parsed.error.message) : 'no message'
    throw new NodeRefusal(code, message.slice(0, MESSAGE_MAX))
  }
  if (!('result' in parsed)) throw new Error(`${method}: neither result nor error`)
  return parsed.result
}

/** Nodes repeat whole calls in their messages. */
const MESSAGE_MAX = 300

const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/

function wei(value: unknown): bigint {
  if (typeof value !== 'string' || !QUANTITY.test(value))
    throw new Error('the node gave no quantity')
  return BigInt(value)
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) throw new Error('the node gave no object')
  return Object.entries(value).find(([key]) => key === name)?.[1]
}

function toBlock(block: number | 'latest' = 'latest'): string {
  return block === 'latest' ? block : `0x${block.toString(16)}`
}

function parseReceipt(value: unknown, chainId: number): Receipt | undefined {
  // A node may show a receipt of a block that is still being built; it has no number then.
  if (value === null || member(value, 'blockNumber') === null) return undefined
  return {
    from: parseBytes(member(value, 'from')),
    succeeded: wei(member(value, 'status')) === 1n,
    blockNumber: Number(wei(member(value, 'blockNumber'))),
    blockHash: parseBytes(member(value, 'blockHash')),
    logs: parseLogs(member(value, 'logs'), chainId),
    paidWei: wei(member(value, 'gasUsed')) * wei(member(value, 'effectiveGasPrice')),
  }
}
