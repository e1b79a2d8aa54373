import { type Admission, admitWithin } from '#accounts/metering/meter/meter.ts'
import type { Caller } from '#base/caller.ts'
import { type Refusal, refuse } from '#base/refusal.ts'
import { nextMidnight, unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import { type Call, carriesPayment, type PaymentRequired, type RequestFacts } from '#route.ts'
import {
  callOfferHeader,
  OFFERS,
  type PaymentFault,
  paymentRequiredBody,
  paymentResponseHeaders,
  requirePayment,
} from './offer.ts'
import { matchOffer, type PaymentPayload, readPayment } from './payload.ts'
import { findOpenPayment, findPayment, type Payee, type X402Payment } from './payment.ts'
import { getOutcomes, refusePending, refuseUsed, settlePayment } from './settle-payment.ts'
import { getSettling, readSettlingSetting, type Settling } from './settling.ts'

type Ending = Refusal | PaymentRequired

/** The outcome of a call's payment; `headers` go on the answer. */
export type Paid =
  | {
      readonly kind: 'admission'
      readonly admission: Admission
      readonly headers: Headers
    }
  /** The balance was raised; charge the call to it. */
  | { readonly kind: 'balance'; readonly headers: Headers }
  | { readonly kind: 'unpaid'; readonly ending: Ending }

/** Settles the call's payment, crediting it and debiting the call in one transaction; otherwise answers 402. */
export async function pay(ctx: Context, caller: Caller, call: Call): Promise<Paid> {
  const settling = carriesPayment(call.headers) ? await getSettling(ctx) : undefined
  if (settling !== undefined) return payWith(ctx, settling, caller, call)
  return { kind: 'unpaid', ending: await offerCall(ctx, caller, call) }
}

export async function payWith(
  ctx: Context,
  settling: Settling,
  caller: Caller,
  call: Pick<Call, 'headers' | 'addressBucket' | 'target' | 'isCut'>,
): Promise<Paid> {
  const payload = readPayment(call.headers)
  const offer = (fault: PaymentFault) => offerCall(ctx, caller, call, fault)
  if (typeof payload === 'string')
    return { kind: 'unpaid', ending: await reject(ctx, { fault: payload }, offer) }
  const outcome = await settlePayment(ctx, settling, {
    payload,
    payee: toPayee(caller),
    amounts: OFFERS,
    addressBucket: call.addressBucket,
    isForBalance: true,
    isAwaited: () => !call.isCut(),
    post: (tx, credit) => admitWithin(ctx, tx, caller, credit),
  })
  switch (outcome.kind) {
    case 'posted': {
      const headers = paymentResponseHeaders(ctx, { payload, ...outcome })
      const { value: admission } = outcome
      if (admission === undefined) return { kind: 'balance', headers }
      return { kind: 'admission', headers, admission }
    }
    case 'balance':
      return { kind: 'balance', headers: {} }
    case 'rejected': {
      const ending = await reject(ctx, { fault: outcome.reason, payload }, offer)
      return { kind: 'unpaid', ending }
    }
    case 'refusal':
      return { kind: 'unpaid', ending: outcome }
  }
}

/** Repeats the offer, with the reason in the x402 response headers too. */
export async function reject<E extends { readonly kind: string }>(
  ctx: Context,
  { fault, payload }: { readonly fault: PaymentFault; readonly payload?: PaymentPayload },
  offer: (fault: PaymentFault) => Promise<E & { readonly headers?: Headers }>,
): Promise<E> {
  getOutcomes(ctx).rejected += 1
  const ending = await offer(fault)
  const response = { payload, transaction: null, errorReason: fault }
  return { ...ending, headers: { ...ending.headers, ...paymentResponseHeaders(ctx, response) } }
}

type Headers = Readonly<Record<string, string>>

/**
 * Rejects a payment that was used before, even on a free call; one that was credited but never served may serve one.
 * Returns undefined where payments are not settled.
 */
export async function rejectUsedPayment(
  ctx: Context,
  { headers }: Pick<RequestFacts, 'headers'>,
): Promise<Refusal | 'carried' | 'credited' | undefined> {
  if (readSettlingSetting(ctx) === undefined) return undefined
  const payload = readPayment(headers)
  if (typeof payload === 'string') return 'carried'
  const { chain, asset } = requirePayment(ctx)
  const named = { chainId: chain.id, asset, authorization: payload.authorization }
  const payment = await findPayment({ run: ctx.accounts.read }, named)
  if (payment === undefined || payment.status === 'open') return 'carried'
  if (payment.status === 'credited' && !payment.isServed) return 'credited'
  getOutcomes(ctx).used += 1
  return refuseUsed()
}

/** Refuses a payment that matches no offer before the call causes any work. */
export async function rejectUnfitPayment(
  ctx: Context,
  caller: Caller,
  call: RequestFacts,
): Promise<Ending | undefined> {
  const payload = readPayment(call.headers)
  const offer = (error: PaymentFault) => offerCall(ctx, caller, call, error)
  if (typeof payload === 'string') return reject(ctx, { fault: payload }, offer)
  const fault = matchOffer(ctx, OFFERS, payload)
  return fault && reject(ctx, { fault, payload }, offer)
}

/**
 * Answers an unpaid call: 402 with an x402 offer in the header if it can be settled, or a refusal if payments are not
 * configured. While a payment of the caller is open it is 503, because paying again would pay twice.
 */
export async function offerCall(
  ctx: Context,
  caller: Caller,
  { target }: Pick<RequestFacts, 'target'>,
  error?: PaymentFault,
): Promise<Ending> {
  const nowUnix = unixNow(ctx.clock)
  if (ctx.ecosystem.payment === null)
    return refuse('quota_exceeded', 'the daily quota is used up; it resets at 00:00 UTC', {
      retryAfterSeconds: nextMidnight(nowUnix) - nowUnix,
    })
  const settling = await getSettling(ctx)
  const body = paymentRequiredBody(ctx, caller, settling !== undefined)
  if (settling === undefined) return { kind: 'payment-required', body }
  const open = await openPaymentOfCaller(ctx, caller)
  if (open !== undefined) return refusePending(open.txHash)
  const isOffered = error !== 'settlement_unavailable' && (await settling.isReady())
  if (!isOffered) return { kind: 'payment-required', body }
  const header = callOfferHeader(ctx, { target, error })
  return { kind: 'payment-required', body, headers: { 'PAYMENT-REQUIRED': header } }
}

export function toPayee(caller: Caller): Payee {
  return caller.kind === 'keyed'
    ? { kind: 'key', name: caller.publicId, wallet: caller.wallet, isOwn: true }
    : { kind: 'bucket', name: caller.bucket, wallet: null, isOwn: true }
}

export function openPaymentOfCaller(
  { accounts }: Pick<Context, 'accounts'>,
  caller: Caller,
): Promise<X402Payment | undefined> {
  const wallet = caller.kind === 'keyed' ? caller.wallet : undefined
  return findOpenPayment({ run: accounts.read }, toPayee(caller), wallet)
}
