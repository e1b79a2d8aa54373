import type { Address, Hash } from '#base/address.ts'
import type { BlockRef } from '#base/chain.ts'
import { isObject, type JsonObject } from '#base/json.ts'
import type { ProvenBlock } from '#chain/chain-source.ts'
import { callSource, openPost, type Post, type RpcCall } from '#chain/endpoints/json-rpc.ts'
import { parseBytes, parseLogs } from '#chain/parse-rpc.ts'
import { NodeRefusal } from '#chain/rpc-error.ts'

/** A call at block `at`; throws if the node lacks it, instead of using an older one. */
interface CallInput {
  readonly from?: Address
  readonly to: Address
  readonly data: Hash
  readonly gas?: bigint
  readonly at?: number
}

export type SettlingRpc = ReturnType<typeof openSettlingRpc>

/** Fails over only if a node does not answer, because a refusal is an answer. */
export function openSettlingRpc({ id, rpcUrls }: { id: number; rpcUrls: readonly string[] }) {
  const posts = rpcUrls.map(openPost)
  const ask = (method: string, params: readonly unknown[]) => askInTurn(posts, { method, params })
  const source = callSource(id, (call) => askInTurn(posts, call), isRefusal)
  return {
    /** Prices are in wei per gas; `tip` is the node's proposal. */
    async gasPrice(): Promise<{ readonly baseFee: bigint; readonly tip: bigint }> {
      const [block, tip] = await Promise.all([
        ask('eth_getBlockByNumber', ['latest', false]),
        ask('eth_maxPriorityFeePerGas', []),
      ])
      return { baseFee: toQuantity(toObject(block).baseFeePerGas), tip: toQuantity(tip) }
    },
    balance: async (account: Address) =>
      toQuantity(await ask('eth_getBalance', [account, 'latest'])),
    transactionCount: async (account: Address, at: 'latest' | 'pending') =>
      Number(toQuantity(await ask('eth_getTransactionCount', [account, at]))),
    /** Returns `0x` if there is no contract. */
    code: async (account: Address): Promise<Hash> =>
      parseBytes(await ask('eth_getCode', [account, 'latest'])),
    async call({ at, gas, ...input }: CallInput): Promise<Hash> {
      const call = { ...input, ...(gas !== undefined && { gas: `0x${gas.toString(16)}` }) }
      const block = at === undefined ? 'latest' : `0x${at.toString(16)}`
      return parseBytes(await ask('eth_call', [call, block]))
    },
    async send(raw: Hash): Promise<void> {
      await ask('eth_sendRawTransaction', [raw])
    },
    /** Returns undefined while the transaction is in no block. */
    async receipt(txHash: Hash) {
      const value = await ask('eth_getTransactionReceipt', [txHash])
      if (value === null) return undefined
      const { blockNumber, blockHash, logs } = toObject(value)
      if (blockNumber === null) return undefined
      return {
        blockNumber: Number(toQuantity(blockNumber)),
        blockHash: parseBytes(blockHash),
        logs: parseLogs(logs, id),
      }
    },
    /** Whether the node has the transaction in a block or in its mempool. */
    isKnown: async (txHash: Hash) => (await ask('eth_getTransactionByHash', [txHash])) !== null,
    header: source.header,
    logs: source.logsInRange,
    /** Throws EndpointError `unproven`. A proof comes from one node, never from parts of several. */
    async provenBlock(ref: BlockRef): Promise<ProvenBlock> {
      let last: unknown
      for (const post of posts) {
        const node = callSource(id, (call) => askOne(post, call), isRefusal)
        try {
          return await node.provenBlock(ref)
        } catch (error) {
          last = error
        }
      }
      throw last
    },
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof NodeRefusal
}

async function askInTurn(posts: readonly Post[], call: RpcCall): Promise<unknown> {
  let cause: unknown
  for (const post of posts) {
    try {
      return await askOne(post, call)
    } catch (error) {
      if (!(error instanceof NodeRefusal)) cause = error
      else throw cause === undefined ? error : new NodeRefusal(error.code, error.message, { cause })
    }
  }
  // A transaction that was sent may have arrived all the same.
  throw new Error(`no node answers ${call.method}`, { cause })
}

const CALL_TIMEOUT_MS = 5_000

const MESSAGE_MAX = 300

async function askOne(post: Post, { method, params }: RpcCall): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const answer = await post(body, { timeoutMs: CALL_TIMEOUT_MS })
  const { error, result } = toObject(JSON.parse(answer.body.toString('utf8')))
  if (isObject(error))
    throw new NodeRefusal(Number(error.code), String(error.message).slice(0, MESSAGE_MAX))
  if (result === undefined) throw new Error(`${method}: the answer has neither result nor error`)
  return result
}

function toObject(value: unknown): JsonObject {
  if (!isObject(value)) throw new Error("the node's answer is not a JSON object")
  return value
}

const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/

function toQuantity(value: unknown): bigint {
  if (typeof value !== 'string' || !QUANTITY.test(value))
    throw new Error("the node's answer is not a hex quantity")
  return BigInt(value)
}
