import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { lockSuccessor } from '#accounts/keys/key-store.ts'
import { bucketAccount, keyAccount } from '#accounts/ledger/ledger.ts'
import { getFailedSettlements } from '#accounts/metering/abuse-guard.ts'
import { type Hash, parseHash } from '#base/address.ts'
import { sleep } from '#base/async.ts'
import type { MicroUsd } from '#base/money.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { DAY_SECONDS, unixNow } from '#base/time.ts'
import { type Context, oncePerContext, reportError } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { creditDeposit } from '#payments/prepayments/credit.ts'
import type { Deposit } from '#payments/prepayments/deposits.ts'
import { type PaymentFault, toRequirements } from './offer.ts'
import {
  checkOffer,
  hasTimeLeft,
  type PaymentPayload,
  paymentResponseHeaders,
  writeSigned,
} from './payload.ts'
import {
  endPayment,
  failPayment,
  findPayment,
  leftOpen,
  lockPayment,
  type Payee,
  reservePayment,
  setHint,
  takeServed,
  type X402Payment,
} from './payment.ts'
import { holdsEnough, isUsed, judgePayment } from './settlement.ts'
import type { Settling } from './settling.ts'

export type Settled<T> =
  /** `value` is absent if it was credited before: this request is the call it paid for. */
  | { readonly kind: 'posted'; readonly transaction: Hash; readonly value?: T }
  /** The balance was raised meanwhile, by another payment or by this one without a call. */
  | { readonly kind: 'balance' }
  | { readonly kind: 'rejected'; readonly reason: PaymentFault }
  /** Used before, of unknown outcome, or after too many failures. */
  | Refusal

export interface ToSettle<T> {
  readonly payload: PaymentPayload
  readonly payee: Payee
  readonly amounts: readonly MicroUsd[]
  readonly addressBucket: string
  /** Whether the caller only needs the balance raised, even if another payment does it. */
  readonly isForBalance: boolean
  /** False once the client has left; the payment then serves a later request that sends it. */
  isAwaited(): boolean
  /** Posts in the credit's transaction; undefined if there was nothing to credit. */
  post(tx: Connection, credit: () => Promise<Credited | undefined>): Promise<T | undefined>
}

/** Payments that this process is settling, by the balance that they raise. */
const underWay = oncePerContext(() => new Map<string, UnderWay>())

interface UnderWay {
  /** Payer and nonce. */
  readonly name: string
  readonly ended: Promise<Settled<unknown> | undefined>
}

/** Payments since the start, by outcome. */
export const getOutcomes = oncePerContext(() => ({ settled: 0, rejected: 0, used: 0, pending: 0 }))

/** Settles and credits payments one at a time per balance: an agent that signs ten payments for ten parallel 402s pays once for all. */
export async function settlePayment<T>(
  ctx: Context,
  settling: Settling,
  asked: ToSettle<T>,
): Promise<Settled<T>> {
  const { payee, payload } = asked
  const queue = underWay(ctx)
  const name = `${payload.authorization.from}:${payload.authorization.nonce}`
  const balance = payee.isOwn ? `${payee.kind}:${payee.name}` : name
  for (let before = queue.get(balance); before !== undefined; before = queue.get(balance)) {
    const outcome = await before.ended
    if (before.name === name || outcome === undefined) continue
    if (isRefusal(outcome) && outcome.code === 'settlement_pending') {
      // Those headers describe another payment.
      const { headers: _, ...refused } = outcome
      return refused
    }
    if (asked.isForBalance && outcome.kind === 'posted') return { kind: 'balance' }
  }
  const settled = settleNext(ctx, settling, asked)
  queue.set(balance, { name, ended: settled.catch(() => undefined) })
  try {
    const outcome = await settled
    if (outcome.kind === 'posted') getOutcomes(ctx).settled += 1
    if (isRefusal(outcome) && outcome.code === 'settlement_pending') getOutcomes(ctx).pending += 1
    if (isRefusal(outcome) && outcome.code === 'payment_already_used') getOutcomes(ctx).used += 1
    return outcome
  } finally {
    queue.delete(balance)
  }
}

async function settleNext<T>(
  ctx: Context,
  settling: Settling,
  asked: ToSettle<T>,
): Promise<Settled<T>> {
  const { payload, payee, addressBucket } = asked
  const { authorization, signature } = payload
  const { chain, asset } = settling.payment
  const signed = { chainId: chain.id, asset, authorization, signature }
  const stored = await findPayment({ run: ctx.accounts.read }, signed)
  if (stored !== undefined) return settledBefore(ctx, stored, asked)
  const fault = checkOffer(ctx, asked.amounts, payload)
  if (fault !== undefined) return reject(fault)
  const failures = getFailedSettlements(ctx)
  const limited = failures.refusal(addressBucket)
  if (limited !== undefined) return limited
  const head = (await settling.isReady())
    ? await settling.rpc.header('latest').catch(() => undefined)
    : undefined
  if (head === undefined) return reject('settlement_unavailable')
  const payment: X402Payment = {
    id: randomUUID(),
    ...signed,
    payee,
    status: 'open',
    createdUnix: unixNow(ctx.clock),
    fromBlock: head.number,
    txHash: null,
    isServed: false,
  }
  const refused = await verify(ctx, settling, payment)
  if (refused !== undefined) failures.take(addressBucket)
  if (refused === 'used') return settledElsewhere(ctx, payment, asked)
  if (refused !== undefined) return refused
  const reserved = await ctx.accounts.write((tx) => reservePayment(tx, payment))
  if (reserved === 'used') return settleNext(ctx, settling, asked)
  if (reserved === 'busy') return refuseUnknown(ctx, payload, null)
  const { deposit, txHash } = await sendAndProve(ctx, settling, payment)
  if (deposit !== undefined) return postPayment(ctx, payment, deposit, asked)
  // We sent a transaction that the chain does not show; it may have cost gas.
  if (txHash !== null) failures.take(addressBucket)
  return refuseUnknown(ctx, payload, txHash)
}

type Rejected = Extract<Settled<never>, { kind: 'rejected' }>

function reject(reason: PaymentFault): Rejected {
  return { kind: 'rejected', reason }
}

/** Serves a request that shows a credited payment again for the same balance, once. */
async function settledBefore(
  ctx: Context,
  payment: X402Payment,
  { payload, payee }: Pick<ToSettle<unknown>, 'payload' | 'payee'>,
): Promise<Settled<never>> {
  const { id, status, txHash: transaction } = payment
  // Compares the whole payment, because its nonce is public once it is sent.
  const isSame =
    payment.payee.kind === payee.kind &&
    payment.payee.name === payee.name &&
    payment.signature === payload.signature &&
    isDeepStrictEqual(payment.authorization, payload.authorization)
  if (isSame && status === 'open') return refuseUnknown(ctx, payload, transaction)
  if (isSame && status === 'credited' && transaction !== null) {
    const isServed = await ctx.accounts.write((tx) => takeServed(tx, id))
    if (isServed) return { kind: 'posted', transaction }
  }
  return refuseUsed()
}

/**
 * Another process may have settled it meanwhile. What somebody sent without us is not credited here, because anyone
 * can read it from the chain and show it: its payer claims it like any transfer.
 */
async function settledElsewhere(ctx: Context, payment: X402Payment, asked: ToSettle<unknown>) {
  const stored = await findPayment({ run: ctx.accounts.read }, payment)
  return stored === undefined ? refuseUsed() : settledBefore(ctx, stored, asked)
}

export function refuseUsed(): Refusal {
  return refuse(
    'payment_already_used',
    'this payment was already used; any amount it moved is on the balance it was made for, or on the key of a prepayment that named its transaction. Sign a new payment only to pay again',
  )
}

/** Answers 503 while the payment has no transaction, or one that the chain does not show. */
export function refuseUnknown(
  ctx: Pick<Context, 'ecosystem'>,
  payload: PaymentPayload,
  transaction: Hash | null,
): Refusal {
  const headers = paymentResponseHeaders(ctx, payload, transaction, 'settlement_pending')
  return { ...refusePending(transaction), headers }
}

/** Blocks come every two seconds. */
const RETRY_SECONDS = 5

/** Answers 503, never a 402, which would ask for a second payment while the first may still arrive. */
export function refusePending(transaction: Hash | null): Refusal {
  return refuse(
    'settlement_pending',
    transaction === null
      ? 'the payment is not settled yet: another one is in progress, or its transfer is not visible yet. Do not sign a new payment: send this one again later, or check /api/usage'
      : 'the payment was sent, but its transaction is not confirmed yet; it will be credited automatically. Do not pay again: check /api/usage',
    { retryAfterSeconds: RETRY_SECONDS, members: { transaction } },
  )
}

/** Has the facilitator verify the payment. Sends nothing. Returns undefined if it may be sent. */
async function verify(ctx: Context, settling: Settling, payment: X402Payment) {
  try {
    const { isValid, invalidReason } = await settling.client.verify(...written(settling, payment))
    if (!hasTimeLeft(ctx, payment.authorization))
      return reject('invalid_exact_evm_payload_authorization_valid_before')
    if (isValid) return undefined
    if (isSignatureFault(invalidReason)) return reject('invalid_exact_evm_payload_signature')
    if (await isUsed(settling, payment)) return 'used'
    const isPoor = !(await holdsEnough(settling, payment))
    return reject(isPoor ? 'insufficient_funds' : 'invalid_transaction_state')
  } catch (error) {
    reportError(ctx, error)
    return reject('settlement_unavailable')
  }
}

/** Codes of the library, of x402 v1, and of the library for wallets that are not deployed (ERC-6492). */
function isSignatureFault(reason: string | undefined): boolean {
  return /^invalid_exact_evm_(payload_)?signature$|^eip6492_factory_not_allowed$/.test(reason ?? '')
}

const POLL_MS = 500

/** Sends a reserved payment, then polls the nodes until they prove the transfer. The outcome is unknown without a deposit. */
async function sendAndProve(
  ctx: Context,
  settling: Settling,
  payment: X402Payment,
): Promise<{ readonly deposit?: Deposit; readonly txHash: Hash | null }> {
  const untilMs = performance.now() + settling.waitMs
  let txHash: Hash | null = null
  const answered = settleBy(ctx, settling, payment).then(
    (hash) => {
      txHash = hash ?? null
    },
    (error: unknown) => reportError(ctx, error),
  )
  await Promise.race([answered, sleep(POLL_MS)])
  for (; performance.now() < untilMs; await sleep(POLL_MS))
    try {
      const verdict = await judgePayment(settling, { ...payment, txHash })
      if (verdict.kind === 'paid') return { deposit: verdict.deposit, txHash }
    } catch (error) {
      reportError(ctx, error)
    }
  return { txHash }
}

/** Has the facilitator settle. The chain decides, whatever it answers; a transaction that it names is found sooner. */
async function settleBy(ctx: Context, settling: Settling, payment: X402Payment) {
  const answer = await settling.client.settle(...written(settling, payment))
  const { success, transaction, errorReason, errorMessage } = answer
  const txHash = parseHash(transaction)
  if (txHash !== undefined) await ctx.accounts.write((tx) => setHint(tx, payment.id, txHash))
  else if (!success)
    throw new Error(`the facilitator did not settle: ${errorReason} ${errorMessage ?? ''}`)
  return txHash
}

function written({ payment: config }: Settling, payment: X402Payment) {
  const { authorization } = payment
  const requirements = toRequirements(config, authorization.value, authorization.to)
  const payload = { x402Version: 2, accepted: requirements, payload: writeSigned(payment) }
  return [payload, requirements] as const
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
      const credit = () => creditPayment(tx, ctx, payment.id, deposit, isServed)
      if (isServed) return asked.post(tx, credit)
      await credit()
      return undefined
    })
    if (!isServed) return { kind: 'balance' }
    if (value !== undefined) return { kind: 'posted', transaction, value }
    return await settledElsewhere(ctx, payment, asked)
  } catch (error) {
    reportError(ctx, error)
    return refuseUnknown(ctx, asked.payload, transaction)
  }
}

export interface Credited {
  /** The payee's newest rotation; null for a bucket. */
  readonly key: string | null
}

/**
 * Credits the deposit in the caller's transaction. A deposit has at most one live credit, shared with prepayments.
 * Returns undefined if another writer was first.
 */
export async function creditPayment(
  tx: Connection,
  ctx: Pick<Context, 'clock'>,
  id: string,
  deposit: Deposit,
  /** Whether the call or top-up that it paid for is answered with this credit. */
  isServed: boolean,
): Promise<Credited | undefined> {
  const payment = await lockPayment(tx, id)
  if (payment === undefined || payment.status === 'credited') return undefined
  const { payee } = payment
  const key = payee.kind === 'key' ? await lockSuccessor(tx, payee.name) : null
  const creditId = randomUUID()
  const isCreated = await creditDeposit(tx, {
    id: creditId,
    deposit,
    account: key === null ? bucketAccount(payee.name) : keyAccount(key),
    owner: payee.wallet ?? deposit.sender,
    claimId: null,
    nowUnix: unixNow(ctx.clock),
  })
  const ended = { creditId: isCreated ? creditId : null, isServed }
  await endPayment(tx, id, deposit.txHash, ended)
  return isCreated ? { key } : undefined
}

/** Finishes what requests left open: lost answers, killed processes and reorgs. */
export async function finishPayments(ctx: Context, settling: Settling): Promise<void> {
  const open = await leftOpen({ run: ctx.accounts.read }, unixNow(ctx.clock))
  const finished = open.map((payment) => finishOne(ctx, settling, payment))
  await Promise.all(finished.map((each) => each.catch((error) => reportError(ctx, error))))
}

async function finishOne(ctx: Context, settling: Settling, payment: X402Payment): Promise<void> {
  const verdict = await judgePayment(settling, payment)
  if (verdict.kind === 'open') return sendAgain(ctx, settling, payment)
  const { id, authorization } = payment
  // A node that hides a use may show it later, but hardly a day after.
  const lastUnix = Number(authorization.validBefore) + DAY_SECONDS
  if (verdict.kind === 'paid')
    await ctx.accounts.write((tx) => creditPayment(tx, ctx, id, verdict.deposit, false))
  else if (verdict.kind === 'over' || unixNow(ctx.clock) >= lastUnix)
    await ctx.accounts.write((tx) => failPayment(tx, id))
}

/** Sends an open payment again unless a node knows its transaction. */
export async function sendAgain(ctx: Context, settling: Settling, payment: X402Payment) {
  const { authorization, txHash } = payment
  if (!hasTimeLeft(ctx, authorization)) return
  if (txHash !== null && (await settling.rpc.isKnown(txHash))) return
  // The payer may have spent the money since.
  const { isValid } = await settling.client.verify(...written(settling, payment))
  if (isValid) await settleBy(ctx, settling, payment)
}
