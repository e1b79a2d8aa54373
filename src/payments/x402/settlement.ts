import { getSelector } from 'ox/AbiEvent'
import { encodeData, from } from 'ox/AbiFunction'
import type { Address, Hash } from '#base/address.ts'
import type { BlockHeader, BlockRef } from '#base/chain.ts'
import { isObject, type JsonObject } from '#base/json.ts'
import { TRANSFER_TOPIC } from '#base/token.ts'
import type { ProvenBlock, SourceLog } from '#chain/chain-source.ts'
import { callSource, openPost, type Post, type RpcCall } from '#chain/endpoints/json-rpc.ts'
import { parseBytes, parseLogs } from '#chain/parse-rpc.ts'
import { NodeRefusal } from '#chain/rpc-error.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import { type Deposit, toDeposits, toTopic } from '#payments/prepayments/deposits.ts'
import { EARLIER_BLOCKS, type X402Payment } from './payment.ts'

export interface PaidChain {
  readonly rpc: SettlingRpc
  readonly payment: Payment
}

/** First topic of the asset's logs that index payer and nonce. */
const USED = getSelector(
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
)
const CANCELLED = getSelector(
  'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
)

type Paid = { readonly kind: 'paid'; readonly deposit: Deposit }

/** `unknown`: not mined, or its block left the chain. */
type Settlement = Paid | { readonly kind: 'unpaid' | 'unknown' }

const UNPAID: Settlement = { kind: 'unpaid' }

/** Reads a transaction's settlement. The transfer must be among the block's proven logs; throws if they cannot be proven. */
async function readSettlement(
  chain: PaidChain,
  payment: X402Payment,
  txHash: Hash,
): Promise<Settlement> {
  const receipt = await chain.rpc.receipt(txHash)
  if (receipt === undefined) return { kind: 'unknown' }
  const { blockNumber, blockHash } = receipt
  const header = await chain.rpc.header(blockNumber)
  if (header === undefined || header.hash !== blockHash) return { kind: 'unknown' }
  // Some assets return false instead of reverting, so only the log proves a payment.
  if (findDeposit(chain, payment, header, receipt.logs) === undefined) return UNPAID
  const { logs } = await chain.rpc.provenBlock(header)
  const ofTransaction = logs.filter((log) => log.txHash === txHash)
  const deposit = findDeposit(chain, payment, header, ofTransaction)
  return deposit === undefined ? { kind: 'unknown' } : { kind: 'paid', deposit }
}

/** Finds the deposit among one transaction's logs. */
function findDeposit(
  { payment: { payTo } }: PaidChain,
  { asset, authorization }: X402Payment,
  { timestamp }: BlockHeader,
  logs: readonly SourceLog[],
): Deposit | undefined {
  const { from, to, value, nonce } = authorization
  const ofAsset = logs.filter(({ address }) => address === asset)
  const used = ofAsset.find(
    ({ topics }) => topics[0] === USED && topics[1] === toTopic(from) && topics[2] === nonce,
  )
  // Payments signed before `asset` or `payTo` changed still count.
  const recipients = [to, ...payTo.map(({ address }) => address)].map(toTopic)
  const paying = ofAsset.filter(
    ({ topics }) => topics[0] === TRANSFER_TOPIC && recipients.includes(topics[2] ?? '0x'),
  )
  const dated = paying.map((log) => ({ ...log, timestamp }))
  // The transfer directly follows the log of the authorization's use; others of the same amount do not count.
  return toDeposits(dated, true).find(
    (each) =>
      each.logIndex - 1 === used?.logIndex &&
      each.sender === from &&
      each.recipient === to &&
      each.amount === value,
  )
}

const authorizationState = from(
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
)
const balanceOf = from('function balanceOf(address account) view returns (uint256)')

/** Whether the nonce was used or cancelled, by anyone. Throws if the node lacks block `at`. */
export async function isUsed({ rpc }: PaidChain, payment: X402Payment, at?: number) {
  const { asset, authorization } = payment
  const data = encodeData(authorizationState, [authorization.from, authorization.nonce])
  return BigInt(await rpc.call({ to: asset, data, ...(at !== undefined && { at }) })) === 1n
}

export async function holdsEnough({ rpc }: PaidChain, { asset, authorization }: X402Payment) {
  const data = encodeData(balanceOf, [authorization.from])
  return BigInt(await rpc.call({ to: asset, data })) >= authorization.value
}

export type Verdict =
  | Paid
  /**
   * `over`: no transfer came, and none can, because the authorization expired, was cancelled or was used otherwise, in a
   * deep block. `unclear`: used or cancelled, but not deep, or no node shows by which transaction.
   */
  | { readonly kind: 'open' | 'over' | 'unclear' }

const MARGIN_SECONDS = 60

/**
 * Checks the named transaction first, then searches for any other. An expiry counts in a deep block only, because a
 * lagging node must not end a payment that succeeds.
 */
export async function judgePayment(chain: PaidChain, payment: X402Payment): Promise<Verdict> {
  const { rpc } = chain
  const { txHash, authorization } = payment
  if (txHash !== null) {
    const named = await readSettlement(chain, payment, txHash)
    if (named.kind === 'paid') return named
  }
  // Read before the state, so that a use in between is not missed.
  const head = await rpc.header('latest')
  if (head === undefined) return { kind: 'open' }
  if (await isUsed(chain, payment)) return findUse(chain, payment, head.number)
  if (BigInt(head.timestamp) < authorization.validBefore) return { kind: 'open' }
  const deep = await rpc.header(Math.max(0, head.number - chain.payment.confirmations))
  const endUnix = Number(authorization.validBefore) + MARGIN_SECONDS
  if (deep === undefined || deep.timestamp < endUnix) return { kind: 'open' }
  return { kind: (await isUsed(chain, payment, deep.number)) ? 'unclear' : 'over' }
}

const PAGE_BLOCKS = 500

/** 40 pages of 500 blocks are more than an hour, for which an authorization is valid, on chains with a block each 0.2 s. */
const PAGES_MAX = 40

/** Searches the transaction that used an authorization. Finding none proves nothing, because the node may lag. */
async function findUse(chain: PaidChain, payment: X402Payment, endBlock: number): Promise<Verdict> {
  const { from: payer, nonce } = payment.authorization
  const topics = [[USED, CANCELLED], [toTopic(payer)], [nonce]]
  const filter = { addresses: [payment.asset], topics }
  const deepNumber = endBlock - chain.payment.confirmations
  let fromBlock = Math.max(0, payment.fromBlock - EARLIER_BLOCKS)
  for (let page = 0; page < PAGES_MAX && fromBlock <= endBlock; page += 1) {
    const toBlock = Math.min(endBlock, fromBlock + PAGE_BLOCKS - 1)
    const [use] = await chain.rpc.logs(filter, fromBlock, toBlock)
    fromBlock = toBlock + 1
    if (use === undefined) continue
    const isCancelled = use.topics[0] === CANCELLED
    const settlement = isCancelled ? UNPAID : await readSettlement(chain, payment, use.txHash)
    if (settlement.kind === 'paid') return settlement
    const isOver = settlement.kind === 'unpaid' && use.blockNumber <= deepNumber
    return { kind: isOver ? 'over' : 'unclear' }
  }
  return { kind: 'unclear' }
}

export type SettlingRpc = ReturnType<typeof openSettlingRpc>

/** Fails over only if a node does not answer, because a refusal is an answer. */
export function openSettlingRpc({ id, rpcUrls }: { id: number; rpcUrls: readonly string[] }) {
  const posts = rpcUrls.map(openPost)
  const ask = (method: string, params: readonly unknown[]) => askInTurn(posts, { method, params })
  const source = callSource(id, (call) => askInTurn(posts, call), isRefusal)
  return {
    /** Prices are in wei per gas; `tip` is the node's proposal. */
    async gasPrice() {
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
    code: source.code,
    /** A call at block `at`; throws if the node lacks it, instead of using an older one. */
    async call({
      at,
      gas,
      ...input
    }: {
      readonly from?: Address
      readonly to: Address
      readonly data: Hash
      readonly gas?: bigint
      readonly at?: number
    }): Promise<Hash> {
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
