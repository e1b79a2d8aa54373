import { type Hex, isHex, toHex } from 'viem'
import type { ChainAddresses, ChainName } from '#devnet/addresses.ts'
import type { Call } from '#devnet/calls.ts'
import { openRpc, type Rpc, type RpcCall } from '#devnet/rpc.ts'

export interface ChainClient {
  readonly name: ChainName
  readonly chainId: number
  readonly rpcUrl: string
  readonly addresses: ChainAddresses
  readonly rpc: Rpc
}

export function openChainClient(chain: Omit<ChainClient, 'rpc'>): ChainClient {
  return { ...chain, rpc: openRpc(chain.rpcUrl) }
}

export interface Head {
  readonly number: number
  readonly hash: Hex
  readonly timestampUnix: number
}

export async function readHead(chain: ChainClient): Promise<Head> {
  const block = await chain.rpc.send({
    method: 'eth_getBlockByNumber',
    params: ['latest', false],
  })
  if (typeof block !== 'object' || block === null || !('hash' in block)) {
    throw new Error(`${chain.name} has no newest block`)
  }
  if (!('number' in block) || !('timestamp' in block)) throw new Error('incomplete block')
  return {
    number: Number(block.number),
    hash: expectHex(block.hash),
    timestampUnix: Number(block.timestamp),
  }
}

/** The node signs for every address. */
export function sendCall(call: Call, nonce?: number): RpcCall {
  const transaction = {
    from: call.from,
    ...(call.to !== undefined && { to: call.to }),
    ...(call.value !== undefined && { value: toHex(call.value) }),
    ...(nonce !== undefined && { nonce: toHex(nonce) }),
    data: call.data,
    gas: gasLimit,
    gasPrice: '0x0',
  }
  return { method: 'eth_sendTransaction', params: [transaction] }
}

/** Unsigned, from any address; mines no block. */
export async function sendTransaction(chain: ChainClient, call: Call): Promise<Hex> {
  return expectHex(await chain.rpc.send(sendCall(call)))
}

/** At the newest block; returns the first word of each answer. */
export async function readWords(
  chain: ChainClient,
  questions: readonly { readonly to: Hex; readonly data: Hex }[],
): Promise<readonly Hex[]> {
  const answers: Hex[] = []
  for (let from = 0; from < questions.length; from += readsPerBatch) {
    const batch = questions.slice(from, from + readsPerBatch)
    const results = await chain.rpc.sendBatch(
      batch.map((question) => ({ method: 'eth_call', params: [question, 'latest'] })),
    )
    answers.push(...results.map(expectHex))
  }
  return answers
}

export function expectHex(value: unknown): Hex {
  if (!isHex(value)) throw new TypeError(`expected hex, got ${String(value)}`)
  return value
}

// Enough for a contract creation; estimating would double the time that history takes.
const gasLimit = toHex(6_000_000)

// Far below the node's request limit.
const readsPerBatch = 500
