import assert from 'node:assert/strict'
import { encodeData, from } from 'ox/AbiFunction'
import { matches } from '#chains/chain/verify-logs.ts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import type { Address, Hash } from '#domain/address.ts'
import type { BlockRef, Log } from '#domain/chain.ts'
import type { Deposit } from '#domain/deposit.ts'
import { TRANSFER_TOPIC } from '#domain/token.ts'
import { EARLIER_BLOCKS, type X402Payment } from './payment.ts'
import { schemeOf } from './schemes/schemes.ts'
import type { SettlingRpc } from './settling-rpc.ts'

export interface PaidChain {
  readonly rpc: SettlingRpc
  readonly payment: Payment
}

/** With who may settle on it. */
export interface SettledChain extends PaidChain {
  /** Our own settling wallet; undefined where another service settles. */
  readonly wallet: Address | undefined
}

export type Settlement =
  | { readonly kind: 'paid'; readonly deposit: Deposit }
  | { readonly kind: 'unpaid'; readonly blockNumber: number; readonly sender: Address }
  /** It is not sealed, or its block left the chain. */
  | { readonly kind: 'unknown' }

/** The transfer must be among the block's proven logs. Throws if they cannot be proven. */
export async function readSettlement(
  chain: PaidChain,
  payment: X402Payment,
  txHash: Hash,
): Promise<Settlement> {
  const receipt = await chain.rpc.receipt(txHash)
  if (receipt === undefined) return { kind: 'unknown' }
  const header = await chain.rpc.header(receipt.blockNumber)
  if (header === undefined || header.hash !== receipt.blockHash) return { kind: 'unknown' }
  const { blockNumber } = receipt
  // Some assets return false instead of reverting: only the log proves a payment.
  if (!receipt.succeeded || findDeposit(chain, payment, receipt.logs, header) === undefined)
    return { kind: 'unpaid', blockNumber, sender: receipt.from }
  const logs = (await provenLogs(chain, payment, header)).filter((log) => log.txHash === txHash)
  const deposit = findDeposit(chain, payment, logs, header)
  if (deposit === undefined) return { kind: 'unknown' }
  return { kind: 'paid', deposit }
}

async function provenLogs(
  { rpc }: PaidChain,
  payment: X402Payment,
  ref: BlockRef,
): Promise<readonly Log[]> {
  const { used } = schemeOf(payment).events
  const filter = { addresses: [payment.asset], topics: [[TRANSFER_TOPIC, used]] }
  const { logs } = await rpc.provenBlock(ref)
  return logs.filter((log) => matches(filter, log))
}

function findDeposit(
  chain: PaidChain,
  payment: X402Payment,
  logs: readonly Omit<Log, 'timestamp'>[],
  header: BlockRef & { readonly timestamp: number },
): Deposit | undefined {
  const { asset, authorization } = payment
  const paying = payingLogs(chain, payment, logs)
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
    chainId: chain.payment.chain.id,
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
  { payment }: PaidChain,
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
async function isUsed(chain: PaidChain, payment: X402Payment, at?: number): Promise<boolean> {
  const data = schemeOf(payment).events.stateCall(payment.authorization)
  const call = { to: payment.asset, data, ...(at !== undefined && { at }) }
  return BigInt(await chain.rpc.call(call)) === 1n
}

export async function holdsEnough(chain: PaidChain, payment: X402Payment): Promise<boolean> {
  const { from: payer, value } = payment.authorization
  const data = encodeData(balanceOf, [payer])
  return BigInt(await chain.rpc.call({ to: payment.asset, data })) >= value
}

export type Verdict =
  | Extract<Settlement, { kind: 'paid' }>
  /** The authorization is cancelled, or used without a deposit for us. Final only if deep. */
  | { readonly kind: 'spent'; readonly isDeep: boolean }
  /** It is used, and no node shows by what. */
  | { readonly kind: 'used' }
  /** Our transaction, in a shallow block: another one would probably revert too. */
  | { readonly kind: 'reverting' }
  /** Our transaction reverted in a deep block; anyone can still submit the authorization. */
  | { readonly kind: 'reverted' }
  /** It is unused at a deep block after its end. */
  | { readonly kind: 'expired' }
  | { readonly kind: 'open' }

export const MARGIN_SECONDS = 60

/**
 * Looks at the named transaction first, then at any other. Ending without money needs a deep block: a lagging
 * node must not end a payment that succeeds.
 */
export async function judgePayment(chain: SettledChain, payment: X402Payment): Promise<Verdict> {
  let unpaidAt: number | undefined
  if (payment.txHash !== null) {
    const settlement = await readSettlement(chain, payment, payment.txHash)
    if (settlement.kind === 'paid') return settlement
    // Another facilitator may send one more.
    if (settlement.kind === 'unpaid' && settlement.sender === chain.wallet)
      unpaidAt = settlement.blockNumber
  }
  // Before the state, so that a use in between is not missed.
  const head = await chain.rpc.header('latest')
  if (head === undefined) return { kind: 'open' }
  if (await isUsed(chain, payment))
    return (await findOther(chain, payment, head.number)) ?? { kind: 'used' }
  const { validBefore } = payment.authorization
  const open = { kind: unpaidAt === undefined ? 'open' : 'reverting' } as const
  if (unpaidAt === undefined && BigInt(head.timestamp) < validBefore) return open
  const deep = await chain.rpc.header(Math.max(0, head.number - chain.payment.confirmations))
  const isPast =
    deep !== undefined && BigInt(deep.timestamp) >= validBefore + BigInt(MARGIN_SECONDS)
  const isReverted = unpaidAt !== undefined && deep !== undefined && unpaidAt <= deep.number
  if (!isPast && !isReverted) return open
  if (await isUsed(chain, payment, deep.number)) return { kind: 'used' }
  return { kind: isPast ? 'expired' : 'reverted' }
}

/** Undefined if no node shows it. */
async function findOther(
  chain: PaidChain,
  payment: X402Payment,
  headNumber: number,
): Promise<Verdict | undefined> {
  const use = await findUse(chain, payment, headNumber)
  if (use === undefined) return undefined
  const deepNumber = headNumber - chain.payment.confirmations
  if (use.isCancelled) return { kind: 'spent', isDeep: use.blockNumber <= deepNumber }
  const settlement = await readSettlement(chain, payment, use.txHash)
  if (settlement.kind === 'unpaid')
    return { kind: 'spent', isDeep: settlement.blockNumber <= deepNumber }
  return settlement.kind === 'paid' ? settlement : undefined
}

export function isOver(verdict: Verdict): boolean {
  return verdict.kind === 'expired' || (verdict.kind === 'spent' && verdict.isDeep)
}

interface Use {
  readonly txHash: Hash
  readonly isCancelled: boolean
  readonly blockNumber: number
}

/** Undefined proves nothing: the node may lag. */
async function findUse(
  chain: PaidChain,
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
    const [found] = await chain.rpc.logs(query)
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
