import type { ProvenBlock, SourceLog } from '#chains/chain/chain-source.ts'
import { callSource } from '#chains/chain/endpoints/call-source.ts'
import { openPost, type Post } from '#chains/chain/endpoints/http-post.ts'
import { NodeRefusal } from '#chains/chain/node-refusal.ts'
import { parseBlock, parseBytes, parseLogs } from '#chains/chain/parse-rpc.ts'
import type { Address, Hash } from '#domain/address.ts'
import type { BlockHeader, BlockRef } from '#domain/chain.ts'

/** No node answered; what was sent may have arrived. */
export class NodeUnreachable extends Error {
  override readonly name = 'NodeUnreachable'
}

export interface Receipt {
  readonly from: Address
  readonly succeeded: boolean
  readonly blockNumber: number
  readonly blockHash: Hash
  readonly logs: readonly SourceLog[]
}

interface RpcTransaction {
  readonly from: Address
}

export interface LogQuery {
  readonly address: Address
  readonly topics: readonly (Hash | readonly Hash[])[]
  readonly fromBlock: number
  readonly toBlock?: number
}

/** Throws if the node lacks block `at`, instead of using an older one. */
export interface CallInput {
  readonly from?: Address
  readonly to: Address
  readonly data: Hash
  readonly gas?: bigint
  /** Code that the simulation finds at addresses. Some nodes refuse it. */
  readonly codes?: Readonly<Record<Address, Hash>>
  readonly at?: number
  readonly signal?: AbortSignal | undefined
}

export interface SettlingRpc {
  /** Wei per gas; `tip` is the node's proposal. */
  gasPrice(): Promise<{ readonly baseFee: bigint; readonly tip: bigint }>
  balance(account: Address): Promise<bigint>
  transactionCount(account: Address, at: 'latest' | 'pending'): Promise<number>
  /** `0x` without a contract. */
  code(account: Address, signal?: AbortSignal): Promise<Hash>
  call(input: CallInput): Promise<Hash>
  send(raw: `0x${string}`): Promise<void>
  receipt(txHash: Hash): Promise<Receipt | undefined>
  /** Finds sealed ones, and those in the node's mempool. */
  transaction(txHash: Hash): Promise<RpcTransaction | undefined>
  header(blockNumber: number | 'latest'): Promise<BlockHeader | undefined>
  logs(query: LogQuery): Promise<readonly SourceLog[]>
  /** Throws EndpointError `unproven`. */
  provenBlock(ref: BlockRef): Promise<ProvenBlock>
}

const CALL_TIMEOUT_MS = 5_000

/** Fails over only if a node does not answer. */
export function openSettlingRpc(chain: {
  readonly id: number
  readonly rpcUrls: readonly string[]
}): SettlingRpc {
  const posts = chain.rpcUrls.map(openPost)
  const nodes = chain.rpcUrls.map((url) => openNode(chain.id, url))
  const askUntil =
    (signal: AbortSignal | undefined) =>
    (method: string, ...params: unknown[]) =>
      askInTurn(posts, { method, params, signal })
  const ask = askUntil(undefined)
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
      Number(wei(await ask('eth_getTransactionCount', account, at))),
    code: async (account, signal) =>
      parseBytes(await askUntil(signal)('eth_getCode', account, 'latest')),
    call: async ({ at, gas, codes, signal, ...input }) => {
      const call = { ...input, ...(gas !== undefined && { gas: `0x${gas.toString(16)}` }) }
      const overrides = Object.entries(codes ?? {}).map(([address, code]) => [address, { code }])
      const state = codes === undefined ? [] : [Object.fromEntries(overrides)]
      return parseBytes(await askUntil(signal)('eth_call', call, toBlock(at), ...state))
    },
    send: async (raw) => {
      await ask('eth_sendRawTransaction', raw)
    },
    receipt: async (txHash) =>
      parseReceipt(await ask('eth_getTransactionReceipt', txHash), chain.id),
    transaction: async (txHash) => parseTransaction(await ask('eth_getTransactionByHash', txHash)),
    header: async (block) => parseBlock(await ask('eth_getBlockByNumber', toBlock(block), false)),
    logs: async ({ address, topics, fromBlock, toBlock: last }) => {
      const filter = { address, topics, fromBlock: toBlock(fromBlock), toBlock: toBlock(last) }
      return parseLogs(await ask('eth_getLogs', filter), chain.id)
    },
    provenBlock: (ref) => firstProof(nodes.map((node) => () => node.provenBlock(ref))),
  }
}

function openNode(chainId: number, url: string) {
  const post = openPost(url)
  const isRefusal = (error: unknown) => error instanceof NodeRefusal
  return callSource(chainId, (call) => askOne(post, call), isRefusal)
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
  readonly signal?: AbortSignal | undefined
}

async function askInTurn(posts: readonly Post[], call: Call): Promise<unknown> {
  let last: unknown
  for (const post of posts) {
    try {
      return await askOne(post, call)
    } catch (error) {
      if (error instanceof NodeRefusal)
        throw last === undefined
          ? error
          : new NodeRefusal(error.code, error.message, { cause: last })
      last = error
    }
  }
  throw new NodeUnreachable(`no node answers ${call.method}`, { cause: last })
}

async function askOne(post: Post, { method, params, signal }: Call): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const answer = await post(body, { timeoutMs: CALL_TIMEOUT_MS, signal })
  const parsed: unknown = JSON.parse(answer.body.toString('utf8'))
  if (typeof parsed !== 'object' || parsed === null)
    throw new Error(`${method}: the answer is not a JSON-RPC object`)
  if ('error' in parsed && typeof parsed.error === 'object' && parsed.error !== null) {
    const code = 'code' in parsed.error ? Number(parsed.error.code) : 0
    const message = 'message' in parsed.error ? String(parsed.error.message) : 'no message'
    throw new NodeRefusal(code, message.slice(0, MESSAGE_MAX))
  }
  if (!('result' in parsed)) throw new Error(`${method}: the answer has neither result nor error`)
  return parsed.result
}

const MESSAGE_MAX = 300

const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/

function wei(value: unknown): bigint {
  if (typeof value !== 'string' || !QUANTITY.test(value))
    throw new Error('the node returned no quantity')
  return BigInt(value)
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) throw new Error('the node returned no object')
  return Object.entries(value).find(([key]) => key === name)?.[1]
}

function toBlock(block: number | 'latest' = 'latest'): string {
  return block === 'latest' ? block : `0x${block.toString(16)}`
}

function parseTransaction(value: unknown): RpcTransaction | undefined {
  if (value === null) return undefined
  return { from: parseBytes(member(value, 'from')) }
}

function parseReceipt(value: unknown, chainId: number): Receipt | undefined {
  // A pending receipt has none.
  if (value === null || member(value, 'blockNumber') === null) return undefined
  return {
    from: parseBytes(member(value, 'from')),
    succeeded: wei(member(value, 'status')) === 1n,
    blockNumber: Number(wei(member(value, 'blockNumber'))),
    blockHash: parseBytes(member(value, 'blockHash')),
    logs: parseLogs(member(value, 'logs'), chainId),
  }
}
