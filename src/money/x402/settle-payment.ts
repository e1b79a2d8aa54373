import { randomUUID } from 'node:crypto'
import { lockSuccessor } from '#accounts/keys/key-store.ts'
import { bucketAccount, keyAccount } from '#accounts/ledger/account.ts'
import { failedSettlementsOf, wrongSignaturesOf } from '#accounts/metering/abuse-guard.ts'
import { type Context, oncePerContext, reportError } from '#context.ts'
import { type Hash, parseHash } from '#domain/address.ts'
import type { Deposit } from '#domain/deposit.ts'
import type { MicroUsd } from '#domain/money.ts'
import { isRefusal, type Refusal } from '#domain/refusal.ts'
import { sleep } from '#lib/async.ts'
import { unixNow } from '#lib/time.ts'
import { creditDeposit } from '#money/payments/credit.ts'
import type { Connection } from '#store/engine.ts'
import type { PaymentFault } from './faults.ts'
import { requirementsOf } from './offer.ts'
import { hasTimeLeft, matchOffer, type PaymentPayload } from './payload.ts'
import {
  balanceOf,
  CLAIMED,
  failPayment,
  findPayment,
  isOwn,
  lockPayment,
  type Payee,
  reservePayment,
  samePayee,
  sameSigned,
  setClaimed,
  setCredited,
  setHint,
  takeServed,
  type X402Payment,
} from './payment.ts'
import { schemeOf } from './schemes/schemes.ts'
import { holdsEnough, judgePayment, MARGIN_SECONDS, readSettlement } from './settlement.ts'
import type { Settling } from './settling.ts'

export type Settled<T> =
  | { readonly kind: 'posted'; readonly transaction: Hash; readonly value: T }
  /** It was credited without its call or top-up, which is this one. */
  | { readonly kind: 'credited'; readonly transaction: Hash }
  /** Another payment raised the balance meanwhile, or this one did without a call. */
  | { readonly kind: 'balance' }
  | { readonly kind: 'rejected'; readonly reason: PaymentFault }
  | { readonly kind: 'used' }
  /** A prepayment has its transfer. */
  | { readonly kind: 'claimed'; readonly transaction: Hash }
  /** Outcome unknown. Null: no transaction is known. `isOther`: of another payment, and this one is unused. */
  | { readonly kind: 'pending'; readonly transaction: Hash | null; readonly isOther?: true }
  | Refusal

export interface ToSettle<T> {
  readonly payload: PaymentPayload
  readonly payee: Payee
  readonly amounts: readonly MicroUsd[]
  readonly addressBucket: string
  /** Whether the balance that another payment raises does as well. */
  readonly isForBalance: boolean
  /** False for a client that has left; a request that shows the payment again is then served. */
  isAwaited(): boolean
  /** Posts in the transaction of the credit; undefined if there was nothing to credit. */
  post(tx: Connection, credit: () => Promise<Credited | undefined>): Promise<T | undefined>
}

/** Payments that a request of this process settles, by the balance that they raise. */
const underWay = oncePerContext(
  () =>
    new Map<
      string,
      { readonly name: string; readonly ended: Promise<Settled<unknown> | undefined> }
    >(),
)

/** How many payments ended how since the start. */
export const outcomesOf = oncePerContext(() => ({ settled: 0, rejected: 0, used: 0, pending: 0 }))

/**
 * Settles a payment and credits it, one at a time for each balance: an agent that signed ten payments
 * for ten parallel 402s pays once for all.
 */
export async function settlePayment<T>(
  ctx: Context,
  settling: Settling,
  asked: ToSettle<T>,
): Promise<Settled<T>> {
  const { payee, payload } = asked
  const queue = underWay(ctx)
  const name = `${payload.authorization.from}:${payload.authorization.nonce}`
  const balance = isOwn(payee) ? `${payee.kind}:${balanceOf(payee)}` : name
  for (let before = queue.get(balance); before !== undefined; before = queue.get(balance)) {
    const outcome = await before.ended
    if (before.name === name || outcome === undefined) continue
    if (outcome.kind === 'pending')
      return { kind: 'pending', transaction: outcome.transaction, isOther: true }
    if (asked.isForBalance && (outcome.kind === 'posted' || outcome.kind === 'credited'))
      return { kind: 'balance' }
  }
  const settled = settleNext(ctx, settling, asked)
  queue.set(balance, { name, ended: settled.catch(() => undefined) })
  try {
    return counted(ctx, await settled)
  } finally {
    queue.delete(balance)
  }
}

function counted<T>(ctx: Context, settled: Settled<T>): Settled<T> {
  const { kind } = settled
  if (kind === 'posted' || kind === 'credited') outcomesOf(ctx).settled += 1
  else if (kind === 'pending') outcomesOf(ctx).pending += 1
  else if (kind === 'used' || kind === 'claimed') outcomesOf(ctx).used += 1
  return settled
}

async function settleNext<T>(
  ctx: Context,
  settling: Settling,
  asked: ToSettle<T>,
): Promise<Settled<T>> {
  const { payload, addressBucket } = asked
  const { chain, asset } = settling.payment
  const named = { chainId: chain.id, asset, authorization: payload.authorization }
  const known = await findPayment({ run: ctx.accounts.read }, named)
  if (known !== undefined) return settledBefore(ctx, known, asked)
  const fault =
    matchOffer(ctx, asked.amounts, payload) ?? (await checkSignature(ctx, settling, asked))
  if (fault !== undefined) return isRefusal(fault) ? fault : reject(fault)
  const settlements = failedSettlementsOf(ctx)
  const limited = settlements.refusal(addressBucket)
  if (limited !== undefined) return limited
  const head = (await settling.isReady())
    ? await settling.rpc.header('latest').catch(() => undefined)
    : undefined
  if (head === undefined) return reject('settlement_unavailable')
  const payment = newPayment(ctx, { ...named, ...asked, fromBlock: head.number })
  const reserved = await ctx.accounts.write((tx) => reservePayment(tx, payment))
  if (reserved === 'used') return settleNext(ctx, settling, asked)
  if (reserved === 'waits') return reject('payer_waits')
  if (reserved === 'busy') return { kind: 'pending', transaction: null }
  const outcome = await sendAndProve(ctx, settling, payment)
  if (outcome.kind === 'proven') return postPayment(ctx, payment, outcome.deposit, asked)
  // What was sent and is not shown may have cost gas.
  const isSent = outcome.kind === 'pending' && outcome.transaction !== null
  if (outcome.kind === 'rejected' || isSent) settlements.failed(addressBucket)
  return outcome
}

function reject(reason: PaymentFault) {
  return { kind: 'rejected', reason } as const
}

function newPayment(
  ctx: Context,
  input: Pick<X402Payment, 'chainId' | 'asset' | 'payee' | 'fromBlock'> & {
    readonly payload: PaymentPayload
  },
): X402Payment {
  const { payload, chainId, asset, payee, fromBlock } = input
  const { scheme, authorization, signature } = payload
  return {
    id: randomUUID(),
    ...{ scheme, chainId, asset, authorization, signature, payee, fromBlock },
    status: 'open',
    createdUnix: unixNow(ctx.clock),
    txHash: null,
    reason: null,
    isServed: false,
  }
}

/** A payment that is credited serves one request that shows it again for the same balance. */
async function settledBefore(
  ctx: Context,
  payment: X402Payment,
  { payload, payee }: Pick<ToSettle<unknown>, 'payload' | 'payee'>,
): Promise<Exclude<Settled<never>, { kind: 'posted' }>> {
  const { id, status, reason, txHash: transaction } = payment
  const isSame = samePayee(payment.payee, payee) && sameSigned(payment, payload)
  if (isSame && status === 'open') return { kind: 'pending', transaction }
  if (isSame && reason === CLAIMED && transaction !== null) return { kind: 'claimed', transaction }
  if (isSame && status === 'credited' && transaction !== null) {
    const isServed = await ctx.accounts.write((tx) => takeServed(tx, id))
    if (isServed) return { kind: 'credited', transaction }
  }
  return { kind: 'used' }
}

/** Undefined if signed. Limited by address, because it costs milliseconds and may ask a node. */
async function checkSignature(
  ctx: Context,
  settling: Settling,
  { payload, addressBucket }: Pick<ToSettle<unknown>, 'payload' | 'addressBucket'>,
): Promise<PaymentFault | Refusal | undefined> {
  const recoveries = wrongSignaturesOf(ctx)
  const limited = recoveries.refusal(addressBucket)
  if (limited !== undefined) return limited
  try {
    const fault = await schemeOf(payload).checkSignature(settling, payload)
    if (fault !== undefined) recoveries.failed(addressBucket)
    return fault
  } catch (error) {
    reportError(ctx, error)
    return 'settlement_unavailable'
  }
}

const POLL_MS = 250

/** A facilitator may never answer, or name the wrong transaction. */
const SEARCH_MS = 2_000

type Sent =
  | { readonly kind: 'proven'; readonly deposit: Deposit }
  | { readonly kind: 'rejected'; readonly reason: PaymentFault }
  | { readonly kind: 'pending'; readonly transaction: Hash | null }

/** Has a reserved payment verified and sent, and asks the nodes until they prove the transfer. */
async function sendAndProve(ctx: Context, settling: Settling, payment: X402Payment): Promise<Sent> {
  const untilMs = performance.now() + settling.waitMs
  const late = async () => {
    await sleep(untilMs - performance.now())
    return 'settlement_unavailable' as const
  }
  const verified = await Promise.race([verify(ctx, settling, payment), late()])
  if (typeof verified === 'string') {
    // The facilitator knows the signature, so the job looks once more after its end.
    const dueUnix = Number(payment.authorization.validBefore) + MARGIN_SECONDS
    const reservedUnix = payment.createdUnix
    const failed = { id: payment.id, reason: verified, dueUnix, reservedUnix }
    const isFailed = await ctx.accounts.write((tx) => failPayment(tx, failed))
    return isFailed ? reject(verified) : { kind: 'pending', transaction: null }
  }
  if (verified.kind === 'proven' || verified.kind === 'pending') return verified
  let txHash: Hash | null = null
  settleBy(ctx, settling, payment).then(
    (hash) => {
      txHash = hash ?? null
    },
    (error: unknown) => reportError(ctx, error),
  )
  let searchMs = performance.now() + SEARCH_MS
  for (; performance.now() < untilMs; await sleep(POLL_MS)) {
    const isSearch = performance.now() >= searchMs
    if (isSearch) searchMs = performance.now() + SEARCH_MS
    const deposit = await look(ctx, settling, { ...payment, txHash }, isSearch)
    if (deposit !== undefined) return { kind: 'proven', deposit }
  }
  return { kind: 'pending', transaction: txHash }
}

/** Looks at the named transaction, or at any that uses the authorization. */
async function look(
  ctx: Context,
  settling: Settling,
  payment: X402Payment,
  isSearch: boolean,
): Promise<Deposit | undefined> {
  const { txHash } = payment
  if (txHash === null && !isSearch) return undefined
  try {
    const seen =
      isSearch || txHash === null
        ? await judgePayment(settling, payment)
        : await readSettlement(settling, payment, txHash)
    return seen.kind === 'paid' ? seen.deposit : undefined
  } catch (error) {
    reportError(ctx, error)
    return undefined
  }
}

/** Nodes may lag by a block, and an authorization may begin in the next one. */
const ATTEMPTS_MAX = 3
const BLOCK_MS = 2_000

async function verify(
  ctx: Context,
  settling: Settling,
  payment: X402Payment,
): Promise<Exclude<Sent, { kind: 'rejected' }> | { readonly kind: 'valid' } | PaymentFault> {
  for (let attempt = 1; ; attempt += 1) {
    // Once more if it did not answer: it may have closed an idle connection.
    const isValid =
      (await isValidFor(ctx, settling, payment)) ?? (await isValidFor(ctx, settling, payment))
    if (!hasTimeLeft(ctx, payment.authorization))
      return 'invalid_exact_evm_payload_authorization_valid_before'
    if (isValid === undefined) return 'settlement_unavailable'
    if (isValid) return { kind: 'valid' }
    try {
      const verdict = await judgePayment(settling, payment)
      if (verdict.kind === 'paid') return { kind: 'proven', deposit: verdict.deposit }
      // No node shows yet by what it was used.
      if (verdict.kind === 'used') return { kind: 'pending', transaction: null }
      if (verdict.kind !== 'open') return 'invalid_transaction_state'
      if (!(await holdsEnough(settling, payment))) return 'insufficient_funds'
    } catch (error) {
      reportError(ctx, error)
      return 'settlement_unavailable'
    }
    if (attempt === ATTEMPTS_MAX) return 'invalid_transaction_state'
    await sleep(BLOCK_MS)
  }
}

/** Whether the facilitator takes it; undefined if it cannot say. */
async function isValidFor(
  ctx: Context,
  settling: Settling,
  payment: X402Payment,
): Promise<boolean | undefined> {
  try {
    const { payload, requirements } = written(settling, payment)
    return (await settling.client.verify(payload, requirements)).isValid
  } catch (error) {
    reportError(ctx, error)
    return undefined
  }
}

/** Whatever a facilitator answers, the chain decides; a transaction that it names is found sooner. */
async function settleBy(
  ctx: Context,
  settling: Settling,
  payment: X402Payment,
): Promise<Hash | undefined> {
  const { payload, requirements } = written(settling, payment)
  const answer = await settling.client.settle(payload, requirements)
  const { success, transaction, errorReason, errorMessage } = answer
  const txHash = parseHash(transaction)
  if (txHash !== undefined)
    await ctx.accounts.write((tx) => setHint(tx, { id: payment.id, txHash }))
  else if (!success)
    throw new Error(`the facilitator did not settle: ${errorReason} ${errorMessage ?? ''}`)
  return txHash
}

/** Sends an open payment that the chain does not show, unless a node knows our transaction. */
export async function sendAgain(
  ctx: Context,
  settling: Settling,
  payment: X402Payment,
): Promise<void> {
  if (!hasTimeLeft(ctx, payment.authorization)) return
  // The payer may have spent the money since.
  if ((await isValidFor(ctx, settling, payment)) !== true) return
  const { wallet, rpc } = settling
  const sent =
    wallet === undefined || payment.txHash === null
      ? undefined
      : await rpc.transaction(payment.txHash)
  if (sent === undefined || sent.from !== wallet) await settleBy(ctx, settling, payment)
}

function written({ payment: config }: Settling, payment: X402Payment) {
  const scheme = schemeOf(payment)
  const { to: payTo, value: amount } = payment.authorization
  const requirements = requirementsOf(scheme, { payment: config, amount, payTo })
  const payload = { x402Version: 2, accepted: requirements, payload: scheme.write(payment) }
  return { payload, requirements }
}

async function postPayment<T>(
  ctx: Context,
  payment: X402Payment,
  deposit: Deposit,
  asked: ToSettle<T>,
): Promise<Settled<T>> {
  const transaction = deposit.txHash
  try {
    const isServed = asked.isAwaited()
    const value = await ctx.accounts.write(async (tx) => {
      const credit = () => creditPayment(tx, ctx, { payment, deposit, isServed })
      if (isServed) return asked.post(tx, credit)
      await credit()
      return undefined
    })
    if (!isServed) return { kind: 'balance' }
    if (value !== undefined) return { kind: 'posted', transaction, value }
    const other = await findPayment({ run: ctx.accounts.read }, payment)
    return other === undefined ? { kind: 'used' } : await settledBefore(ctx, other, asked)
  } catch (error) {
    reportError(ctx, error)
    return { kind: 'pending', transaction }
  }
}

export interface Credited {
  /** The payee's newest rotation; null for a bucket. */
  readonly key: string | null
}

/**
 * Credits the deposit in the caller's transaction. It has at most one live credit, shared with prepayments. Undefined if another writer was first.
 */
export async function creditPayment(
  tx: Connection,
  ctx: Pick<Context, 'clock'>,
  input: {
    readonly payment: Pick<X402Payment, 'id'>
    readonly deposit: Deposit
    /** With the call or top-up that it was made for. */
    readonly isServed: boolean
  },
): Promise<Credited | undefined> {
  const { deposit, isServed } = input
  const { txHash } = deposit
  const payment = await lockPayment(tx, input.payment.id)
  if (payment === undefined || payment.status === 'credited') return undefined
  const { id, payee } = payment
  const key = payee.kind === 'key' ? await lockSuccessor(tx, payee.publicId) : null
  const creditId = randomUUID()
  const isCreated = await creditDeposit(tx, {
    id: creditId,
    deposit,
    account: payee.kind === 'bucket' ? bucketAccount(payee.bucket) : keyAccount(key ?? ''),
    owner: payee.kind === 'key' ? payee.wallet : deposit.from,
    claimId: null,
    nowUnix: unixNow(ctx.clock),
  })
  if (isCreated) await setCredited(tx, { id, txHash, creditId, isServed })
  else await setClaimed(tx, { id, txHash })
  return isCreated ? { key } : undefined
}
