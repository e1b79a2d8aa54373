import assert from 'node:assert/strict'
import { encodeData, from } from 'ox/AbiFunction'
import { matches } from '#chains/chain/verify-logs.ts'
import type { Address, Hash } from '#domain/address.ts'
import type { BlockRef, Log } from '#domain/chain.ts'
import type { Deposit } from '#domain/deposit.ts'
import { TRANSFER_TOPIC } from '#domain/token.ts'
import { schemeOf } from '../schemes/schemes.ts'
import type { CreditDeps } from '../x402-deps.ts'
import { EARLIER_BLOCKS, type X402Payment } from './x402-payment.ts'

type Deps = Pick<CreditDeps, 'rpc' | 'payment'>

export type Settlement =
  | { readonly kind: 'paid'; readonly deposit: Deposit }
  | { readonly kind: 'unpaid'; readonly blockNumber: number; readonly sender: Address }
  /** It is not sealed, or its block left the chain. */
  | { readonly kind: 'unknown' }

/** The transfer must be among the block's proven logs. Throws if they cannot be proven. */
export async function readSettlement(
  deps: Deps,
  payment: X402Payment,
  txHash: Hash,
): Promise<Settlement> {
  const receipt = await deps.rpc.receipt(txHash)
  if (receipt === undefined) return { kind: 'unknown' }
  const header = await deps.rpc.header(receipt.blockNumber)
  if (header === undefined || header.hash !== receipt.blockHash) return { kind: 'unknown' }
  const { blockNumber } = receipt
  // Some assets return false instead of reverting: only the log proves a payment.
  if (!receipt.succeeded || findDeposit(deps, payment, receipt.logs, header) === undefined)
    return { kind: 'unpaid', blockNumber, sender: receipt.from }
  const logs = (await provenLogs(deps, payment, header)).filter((log) => log.txHash === txHash)
  const deposit = findDeposit(deps, payment, logs, header)
  if (deposit === undefined) return { kind: 'unknown' }
  return { kind: 'paid', deposit }
}

async function provenLogs(
  { rpc }: Deps,
  payment: X402Payment,
  ref: BlockRef,
): Promise<readonly Log[]> {
  const { used } = schemeOf(payment).events
  const filter = { addresses: [payment.asset], topics: [[TRANSFER_TOPIC, used]] }
  const { logs } = await rpc.provenBlock(ref)
  return logs.filter((log) => matches(filter, log))
}

function findDeposit(
  deps: Deps,
  payment: X402Payment,
  logs: readonly Omit<Log, 'timestamp'>[],
  header: BlockRef & { readonly timestamp: number },
): Deposit | undefined {
  const { asset, authorization } = payment
  const paying = payingLogs(deps, payment, logs)
  const { from, to, value, nonce } = authorization
  const { events } = schemeOf(payment)
  const used = logs.find(
    ({ address, topics }) =>
      address === asset &&
      topics[0] === events.used &&
      topics[1] === toTopic(from) &&
      topics[2] === nonce,
  )
  // It directly follows the log of its use; others of the same amount do not count.
  const position = paying.findIndex(
    ({ logIndex, topics, data }) =>
      used !== undefined &&
      logIndex === used.logIndex + 1 &&
      topics[1] === toTopic(from) &&
      topics[2] === toTopic(to) &&
      BigInt(data) === value,
  )
  const log = paying[position]
  if (log === undefined) return undefined
  return {
    chainId: deps.payment.chain.id,
    blockNumber: header.number,
    blockHash: header.hash,
    timestampUnix: header.timestamp,
    txHash: log.txHash,
    logIndex: log.logIndex,
    positionInTx: position,
    from,
    to,
    amount: value,
    proven: true,
  }
}

/** Numbers transfers as the index does. Payments signed before `asset` or `payTo` changed still count. */
function payingLogs<L extends Omit<Log, 'timestamp'>>(
  { payment }: Deps,
  { asset, authorization }: X402Payment,
  logs: readonly L[],
): L[] {
  const own = [authorization.to, ...payment.payTo.map((each) => each.address)]
  const recipients = own.map(toTopic)
  return logs.filter(
    ({ address, topics, data }) =>
      address === asset &&
      topics[0] === TRANSFER_TOPIC &&
      topics.length === 3 &&
      recipients.includes(topics[2] ?? '0x') &&
      BigInt(data) > 0n,
  )
}

const balanceOf = from('function balanceOf(address account) view returns (uint256)')

/** Whether it was used, by anyone, or cancelled. Throws if the node lacks block `at`. */
export async function isUsed(deps: Deps, payment: X402Payment, at?: number): Promise<boolean> {
  const data = schemeOf(payment).events.stateCall(payment.authorization)
  const call = { to: payment.asset, data, ...(at !== undefined && { at }) }
  return BigInt(await deps.rpc.call(call)) === 1n
}

export async function holdsEnough(deps: Deps, payment: X402Payment): Promise<boolean> {
  const { from: payer, value } = payment.authorization
  const data = encodeData(balanceOf, [payer])
  return BigInt(await deps.rpc.call({ to: payment.asset, data })) >= value
}

export interface Use {
  readonly txHash: Hash
  readonly isCancelled: boolean
  readonly blockNumber: number
}

/** Undefined proves nothing: the node may lag. */
export async function findUse(
  deps: Deps,
  payment: X402Payment,
  headNumber: number,
): Promise<Use | undefined> {
  const { from: payer, nonce } = payment.authorization
  const { used, cancelled } = schemeOf(payment).events
  const topics = [[used, cancelled], toTopic(payer), nonce]
  let fromBlock = Math.max(0, payment.fromBlock - EARLIER_BLOCKS)
  for (let page = 0; page < PAGES_MAX && fromBlock <= headNumber; page += 1) {
    const toBlock = Math.min(headNumber, fromBlock + PAGE_BLOCKS - 1)
    const query = { address: payment.asset, topics, fromBlock, toBlock }
    const [found] = await deps.rpc.logs(query)
    if (found !== undefined) {
      const { topics: named, txHash, blockNumber } = found
      return { txHash, isCancelled: named[0] === cancelled, blockNumber }
    }
    fromBlock = toBlock + 1
  }
  return undefined
}

const PAGE_BLOCKS = 500

/** Enough for an authorization's hour: 1,800 blocks on Base, more elsewhere. */
const PAGES_MAX = 40

export function toTopic(address: Address): Hash {
  assert(address.length === 42, 'an address has 20 bytes')
  return `0x${address.slice(2).padStart(64, '0')}`
}
