import assert from 'node:assert/strict'
import { Type } from 'typebox'
import { findKey } from '#accounts/keys/key-store.ts'
import { keyOfAccount, receivableAccount } from '#accounts/ledger/ledger.ts'
import { type Admission, admitWithin } from '#accounts/metering/meter/meter.ts'
import { type Hash, showAddress } from '#base/address.ts'
import { type Caller, PUBLIC_ID } from '#base/caller.ts'
import { formatDecimal, type MicroUsd, parseDecimal, toUsd } from '#base/money.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import { nextMidnight, toIso, unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import { column, sql } from '#db/sql.ts'
import {
  type Answer,
  answer,
  type Call,
  carriesPayment,
  defineRoute,
  type Parameter,
  type PaymentRequired,
  parsed,
  type RequestFacts,
  type Route,
} from '#route.ts'
import {
  callOfferHeader,
  DISCOVERY,
  OFFERS,
  type PaymentFault,
  paymentRequired,
  paymentRequiredBody,
  requirePayment,
  TOPUP_PATH,
  TopupOfferBody,
  toBase64,
  topupOfferBody,
} from './offer.ts'
import { checkOffer, type PaymentPayload, paymentResponseHeaders, readPayment } from './payload.ts'
import { findOpenPayment, findPayment, type Payee } from './payment.ts'
import {
  getOutcomes,
  refusePending,
  refuseUnknown,
  refuseUsed,
  settlePayment,
} from './settle-payment.ts'
import { getSettling, readSettlingSetting, type Settling } from './settling.ts'

type Ending = Refusal | PaymentRequired

/** The outcome of a call's payment; `headers` go on the answer. */
export type Paid =
  | { readonly kind: 'admission'; readonly admission: Admission; readonly headers: Headers }
  /** The balance was raised; charge the call to it. */
  | { readonly kind: 'balance'; readonly headers: Headers }
  | Ending

/** Settles the call's payment, crediting it and debiting the call in one transaction; otherwise answers 402. */
export async function pay(ctx: Context, caller: Caller, call: Call): Promise<Paid> {
  const settling = carriesPayment(call.headers) ? await getSettling(ctx) : undefined
  if (settling !== undefined) return payWith(ctx, settling, caller, call)
  return offerCall(ctx, caller, call)
}

export async function payWith(
  ctx: Context,
  settling: Settling,
  caller: Caller,
  call: Pick<Call, 'headers' | 'addressBucket' | 'target' | 'isCut'>,
): Promise<Paid> {
  const payload = readPayment(call.headers)
  const offer = (fault: PaymentFault) => offerCall(ctx, caller, call, fault)
  if (typeof payload === 'string') return reject(ctx, { fault: payload }, offer)
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
      const headers = paymentResponseHeaders(ctx, payload, outcome.transaction)
      const { value: admission } = outcome
      if (admission === undefined) return { kind: 'balance', headers }
      return { kind: 'admission', headers, admission }
    }
    case 'balance':
      return { kind: 'balance', headers: {} }
    case 'rejected':
      return reject(ctx, { fault: outcome.reason, payload }, offer)
    case 'refusal':
      return outcome
  }
}

/** Repeats the offer, with the reason in the x402 response headers too. */
async function reject<E extends { readonly kind: string }>(
  ctx: Context,
  { fault, payload }: { readonly fault: PaymentFault; readonly payload?: PaymentPayload },
  offer: (fault: PaymentFault) => Promise<E & { readonly headers?: Headers }>,
): Promise<E> {
  getOutcomes(ctx).rejected += 1
  const ending = await offer(fault)
  const response = paymentResponseHeaders(ctx, payload, null, fault)
  return { ...ending, headers: { ...ending.headers, ...response } }
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
  const fault = checkOffer(ctx, OFFERS, payload)
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
  const header = callOfferHeader(ctx, target, error)
  return { kind: 'payment-required', body, headers: { 'PAYMENT-REQUIRED': header } }
}

export function toPayee(caller: Caller): Payee {
  return caller.kind === 'keyed'
    ? { kind: 'key', name: caller.publicId, wallet: caller.wallet, isOwn: true }
    : { kind: 'bucket', name: caller.bucket, wallet: null, isOwn: true }
}

export function openPaymentOfCaller({ accounts }: Context, caller: Caller) {
  return findOpenPayment({ run: accounts.read }, toPayee(caller))
}

const Topup = named('Topup', {
  txHash: Type.String(),
  amountUsd: Type.Number(),
  verified: Type.Literal(true),
  message: Type.Literal('verified'),
  apiKeyPublicId: Type.Union([Type.String(), Type.Null()]),
  payerAddress: Type.String(),
  creditedUsd: Type.Number({ description: 'What the payment added to the balance.' }),
  repaidUsd: Type.Number({
    description: 'What repaid a debt: spent balance whose payment a reorg had reversed.',
  }),
  verifiedAt: Type.String({ format: 'date-time' }),
  prepaidBalanceUsd: Type.Union([Type.Number(), Type.Null()], {
    description: 'The new balance; null if another key than the calling one was credited.',
  }),
})

export function topupRoutes(ctx: Context): readonly Route[] {
  return (['GET', 'POST'] as const).map((method) =>
    defineRoute({
      method,
      path: TOPUP_PATH,
      operationId: method === 'GET' ? 'getTopup' : 'topup',
      tag: 'Payment',
      summary: 'Buy prepaid balance with an x402 payment',
      description:
        'Without a payment: 402 with offers for x402 clients, version 1 in the body, version 2 in the header PAYMENT-REQUIRED. With a payment in X-PAYMENT or PAYMENT-SIGNATURE: settles it and credits the key in `key`, else the key in the Authorization header, else the address you call from.',
      metered: false,
      guard: 'claim',
      parameters: { usd: usdInQuery, key: keyInQuery },
      answers: { 200: { description: 'Paid and credited.', schema: Topup } },
      offer: { description: 'What can be paid.', schema: TopupOfferBody },
      refusals: [
        'key_not_found',
        'key_revoked',
        'payment_already_used',
        'settlement_pending',
        'data_not_ready',
      ],
      async handle({ parameters: { usd, key }, caller, call: facts }) {
        const payee = await choosePayee(ctx, caller, key)
        if (isRefusal(payee)) return payee
        const settling = await getSettling(ctx)
        assert(settling !== undefined, 'the route exists only where payments are settled')
        return topUpWith(ctx, settling, { caller, payee, amount: usd, facts })
      },
    }),
  )
}

/** Larger sums are paid by transfer and POST /api/sessions/prepay. */
const TOPUP_MAX: MicroUsd = 1_000_000_000n

const USD_LEAST = formatDecimal(OFFERS[0], 6)
const USD_MOST = formatDecimal(TOPUP_MAX, 6)

const usdInQuery: Parameter<MicroUsd> = {
  in: 'query',
  description: 'US dollars to pay.',
  schema: Type.String({ default: USD_LEAST }),
  example: '1',
  parse(raw = USD_LEAST) {
    const amount = parseDecimal(raw, 6)
    if (amount !== undefined && amount >= OFFERS[0] && amount <= TOPUP_MAX)
      return parsed(amount, formatDecimal(amount, 6))
    return { ok: false, reason: `must be a decimal number from ${USD_LEAST} to ${USD_MOST}` }
  },
}

const keyInQuery: Parameter<string | undefined> = {
  in: 'query',
  description: 'publicId of the key to credit; anyone may pay for any key.',
  schema: Type.String({ pattern: PUBLIC_ID.source }),
  parse(raw) {
    if (raw === undefined) return parsed(undefined, null)
    if (PUBLIC_ID.test(raw)) return parsed(raw, raw)
    return { ok: false, reason: 'must be 8 hex characters in lower case' }
  },
}

async function choosePayee(
  ctx: Context,
  caller: Caller,
  publicId: string | undefined,
): Promise<Payee | Refusal> {
  if (publicId === undefined) return toPayee(caller)
  const key = await findKey({ run: ctx.accounts.read }, publicId)
  if (key === undefined)
    return refuse('key_not_found', `there is no key ${publicId}; check the parameter key`)
  if (key.revokedUnix !== null)
    return refuse('key_revoked', `the key ${publicId} is revoked; name another one`)
  const isOwn = caller.kind === 'keyed' && caller.publicId === publicId
  return { kind: 'key', name: publicId, wallet: key.wallet, isOwn }
}

interface TopupInput {
  readonly caller: Caller
  readonly payee: Payee
  readonly amount: MicroUsd
  readonly facts: Pick<RequestFacts, 'headers' | 'addressBucket'>
}

export async function topUpWith(ctx: Context, settling: Settling, input: TopupInput) {
  const { payee, amount, facts } = input
  if (!carriesPayment(facts.headers)) return offer(ctx, settling, input)
  const payload = readPayment(facts.headers)
  const again = (fault: PaymentFault) => offer(ctx, settling, input, fault)
  if (typeof payload === 'string') return reject(ctx, { fault: payload }, again)
  const outcome = await settlePayment(ctx, settling, {
    ...{ payload, payee, amounts: [amount], addressBucket: facts.addressBucket },
    isForBalance: false,
    isAwaited: () => true,
    post: (_, credit) => credit(),
  })
  switch (outcome.kind) {
    case 'posted':
      return answerSettled(ctx, { payload, ...outcome }, payee)
    case 'rejected':
      return reject(ctx, { fault: outcome.reason, payload }, again)
    case 'balance':
      return refuseUsed()
    case 'refusal':
      return outcome
  }
}

async function offer(ctx: Context, settling: Settling, input: TopupInput, error?: PaymentFault) {
  const open = await openPaymentOfCaller(ctx, input.caller)
  if (open !== undefined) return refusePending(open.txHash)
  if (error === 'settlement_unavailable' || !(await settling.isReady()))
    return refuse(
      'data_not_ready',
      'x402 payments cannot be settled at the moment; try again later, or pay by transfer and POST /api/sessions/prepay',
      { retryAfterSeconds: RETRY_SECONDS },
    )
  const { amount, payee } = input
  const query = new URLSearchParams({ usd: formatDecimal(amount, 6) })
  if (!payee.isOwn) query.set('key', payee.name)
  const offered = {
    amounts: [amount],
    resourceUrl: `${ctx.ecosystem.service.publicBaseUrl}${TOPUP_PATH}?${query}`,
    extensions: DISCOVERY,
    error,
  }
  return {
    kind: 'payment-required' as const,
    body: topupOfferBody(ctx, offered),
    headers: { 'PAYMENT-REQUIRED': toBase64(paymentRequired(ctx, offered)) },
  }
}

const RETRY_SECONDS = 60

/** Answers from the store: on the balance, with an earlier prepayment, or pending if a reorg reversed it. */
async function answerSettled(
  ctx: Context,
  { payload, transaction }: { readonly payload: PaymentPayload; readonly transaction: Hash },
  { isOwn }: Payee,
): Promise<Answer | Refusal> {
  const { chain, asset } = requirePayment(ctx)
  const { authorization } = payload
  const [credit] = await ctx.accounts.read(sql`
    select credits.account, coalesce(balances.micro_usd, 0) as balance, (
        select cast(coalesce(sum(postings.micro_usd), 0) as bigint) from postings
        where postings.entry_id = 'credit:' || credits.id
          and postings.account = ${receivableAccount('')} || credits.owner) as repaid
    from x402_intents as payments
      join credits on credits.id = payments.credit_id and credits.reversed_unix is null
      left join balances on balances.account = credits.account
    where payments.chain_id = ${chain.id} and payments.asset = ${asset}
      and payments.payer = ${authorization.from} and payments.nonce = ${authorization.nonce}`)
  if (credit === undefined) return refuseUnknown(ctx, payload, transaction)
  const repaid = column.amount(credit, 'repaid')
  const { value: amount, from } = authorization
  const headers = paymentResponseHeaders(ctx, payload, transaction)
  const body = {
    txHash: transaction,
    amountUsd: toUsd(amount),
    verified: true,
    message: 'verified',
    apiKeyPublicId: keyOfAccount(column.text(credit, 'account')) ?? null,
    payerAddress: showAddress(from),
    creditedUsd: toUsd(amount - repaid),
    repaidUsd: toUsd(repaid),
    verifiedAt: toIso(unixNow(ctx.clock)),
    prepaidBalanceUsd: isOwn ? toUsd(column.amount(credit, 'balance')) : null,
  }
  return answer(200, body, { headers: { ...headers, 'Cache-Control': 'no-store' } })
}
