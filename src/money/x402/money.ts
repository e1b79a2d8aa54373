import { randomUUID } from 'node:crypto'
import { verifyPayerProof } from '#accounts/keys/message.ts'
import {
  createFailureGuard,
  failedSettlementsOf,
  wrongSignaturesOf,
} from '#accounts/metering/abuse-guard.ts'
import { readDeposits } from '#chains/datasets/deposits/queries.ts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import { type Context, oncePerContext, reportError } from '#context.ts'
import type { Caller } from '#domain/caller.ts'
import type { PayerProof } from '#domain/payer-proof.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { type Clock, nextMidnight, unixNow } from '#lib/time.ts'
import { ContractProofs } from '#money/payments/contract-proofs.ts'
import { Notifier } from '#money/payments/notifier.ts'
import { describeMinter, paymentRequiredBody } from '#money/payments/offers.ts'
import type { PaymentsDeps } from '#money/payments/payments-deps.ts'
import type { PaymentRequired, RequestFacts } from '#route/route.ts'
import { OFFERS, settlingOf } from './facilitators/open-facilitator.ts'
import { createReadiness } from './facilitators/readiness.ts'
import { CallPayments } from './pay-for-call.ts'
import { PaymentReceiver } from './payment-receiver.ts'
import { settlesPayment } from './settling/payment-store.ts'
import type { SettleDeps } from './settling/settle-payment.ts'
import { openSettlingRpc } from './settling/settling-rpc.ts'

export interface X402 {
  readonly calls: CallPayments
  readonly receiver: PaymentReceiver
  readonly settling: SettleDeps
}

/** Clients tolerate ten seconds. */
const WAIT_MS = 10_000

export interface Money extends PaymentsDeps {
  /** The 402 body that the API contract specifies. */
  quotaBody(caller: Caller): unknown
  /** Undefined where x402 payments are not settled. */
  readonly x402: X402 | undefined
}

/** Undefined without payments. */
export const moneyOf = oncePerContext((ctx): Money | undefined => {
  const { ecosystem, clock } = ctx
  const { payment, pricePerCall } = ecosystem
  if (payment === null) return undefined
  const { pricingDocsUrl } = ecosystem.service
  const settles = settlingOf(ctx) !== undefined
  const minter = describeMinter(ecosystem)
  const offers = { payment, pricePerCall, pricingDocsUrl, minter, settles, clock }
  const quotaBody = (caller: Caller) => paymentRequiredBody(offers, caller)
  const common = { engine: ctx.accounts, clock, newId: randomUUID }
  const deposits: PaymentsDeps['deposits'] = { canonical: (query) => readDeposits(ctx, query) }
  const readHead = async () => (await deposits.canonical({ txHashes: [] }))?.head.number
  return {
    ...common,
    quotaBody,
    chainId: payment.chain.id,
    confirmations: payment.confirmations,
    verifyPayerProof: (proof: PayerProof) => verifyPayerProof(ctx, proof),
    contractProofs: new ContractProofs(walletNodes(payment), clock, proofGuard(clock)),
    deposits,
    isReserved: settlesPayment,
    notifier: new Notifier(readHead, (error) => reportError(ctx, error)),
    x402: settles ? openX402(ctx, payment, quotaBody) : undefined,
  }
})

function openX402(ctx: Context, payment: Payment, quotaBody: Money['quotaBody']): X402 {
  const { accounts: engine, clock, ecosystem } = ctx
  const rpc = openSettlingRpc(payment.chain)
  const settling: SettleDeps = {
    ...{ engine, clock, newId: randomUUID, payment, rpc, amounts: OFFERS, waitMs: WAIT_MS },
    readiness: createReadiness({ engine, clock }),
    pricePerCall: ecosystem.pricePerCall,
    publicBaseUrl: ecosystem.service.publicBaseUrl,
    recoveries: wrongSignaturesOf(ctx),
    report: (error) => reportError(ctx, error),
  }
  const receiver = new PaymentReceiver(settling)
  const settlements = failedSettlementsOf(ctx)
  const calls = new CallPayments({ ...settling, receiver, settlements, quotaBody })
  return { settling, receiver, calls }
}

/** What a call that is not paid for is answered: an offer, or a refusal where there are no payments. */
export async function offerCall(
  ctx: Context,
  caller: Caller,
  facts: RequestFacts,
): Promise<PaymentRequired | Refusal> {
  const money = moneyOf(ctx)
  if (money?.x402 !== undefined) return money.x402.calls.offer(caller, facts)
  if (money !== undefined) return { kind: 'payment-required', body: money.quotaBody(caller) }
  const nowUnix = unixNow(ctx.clock)
  return refuse('quota_exceeded', 'the daily quota is used up; it resets at 00:00 UTC', {
    retryAfterSeconds: nextMidnight(nowUnix) - nowUnix,
  })
}

/** Bounds how many unsigned proofs of contract wallets one address may post. */
function proofGuard(clock: Clock) {
  const message = 'too many proofs were not signed; post one again in a minute'
  return createFailureGuard({ clock, limit: { burst: 5, refillPerSecond: 1 / 12 }, message })
}

function walletNodes({ chain: { id, rpcUrls } }: Payment) {
  return rpcUrls.map((url) => openSettlingRpc({ id, rpcUrls: [url] }))
}
