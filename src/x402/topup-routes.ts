import { type Address, showAddress } from '#domain/address.ts'
import type { Caller } from '#domain/caller.ts'
import { type MicroUsd, toUsd } from '#domain/money.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import { type Parameter, parsed } from '#http/parameter.ts'
import { answer, defineRoute, type Outcome, type RequestFacts, type Route } from '#http/route.ts'
import { bucketAccount, keyAccount } from '#ledger/account.ts'
import { readBalances } from '#ledger/balance.ts'
import { unixNow } from '#lib/clock.ts'
import { toIso } from '#lib/day.ts'
import { formatDecimal, parseDecimal } from '#lib/decimal.ts'
import { Type } from '#lib/type.ts'
import type { Deposit } from '#payments/deposit.ts'
import { paymentRequiredHeader, TopupOfferBody, topupOfferBody } from './offers/offer.ts'
import { carriesPayment, type PaymentFault, type PaymentPayload } from './offers/payment-payload.ts'
import { paymentResponseHeaders } from './offers/payment-response.ts'
import { payeeOf, refusePending } from './pay-for-call.ts'
import { type PaymentDesk, refuseUsed } from './payment-desk.ts'
import type { Credited } from './settling/credit-intent.ts'
import type { Payee } from './settling/intent.ts'
import type { SettleDeps } from './settling/settle-payment.ts'

export interface TopupDeps extends SettleDeps {
  readonly desk: PaymentDesk
  /** Who has the balance that a wallet's sign-in opens; undefined without one that is taken. */
  readonly signedIn: (facts: RequestFacts) => Promise<Caller | undefined>
  readonly findKey: (
    publicId: string,
  ) => Promise<{ readonly wallet: Address; readonly revokedUnix: number | null } | undefined>
}

const PATH = '/api/sessions/topup'

const Topup = Type.Object(
  {
    txHash: Type.String(),
    amountUsd: Type.Number(),
    verified: Type.Literal(true),
    message: Type.Literal('verified'),
    apiKeyPublicId: Type.Union([Type.String(), Type.Null()]),
    payerAddress: Type.String(),
    creditedUsd: Type.Number(),
    verifiedAt: Type.String({ format: 'date-time' }),
    prepaidBalanceUsd: Type.Union([Type.Number(), Type.Null()], {
      description: 'The new balance; null when the key is not the one that you called with.',
    }),
  },
  { additionalProperties: false },
)

/** GET and POST /api/sessions/topup: the same thing, since clients of both kinds are about. */
export function topupRoutes(deps: TopupDeps): readonly Route[] {
  return [topupRoute(deps, 'GET'), topupRoute(deps, 'POST')]
}

function topupRoute(deps: TopupDeps, method: 'GET' | 'POST'): Route {
  return defineRoute({
    method,
    path: PATH,
    operationId: method === 'GET' ? 'getTopup' : 'topup',
    tag: 'Payment',
    summary: 'Buy prepaid balance with an x402 payment',
    description:
      'Without a payment it answers 402 with offers for x402 clients: version 1 in the body, version 2 in the header PAYMENT-REQUIRED. With one in X-PAYMENT or PAYMENT-SIGNATURE it settles the payment and credits the key that is named, else the key in the Authorization header, else the wallet that signs in, else the address you call from.',
    metered: false,
    guard: 'claim',
    parameters: { usd: usdInQuery(deps.amounts[0] ?? 0n), key: keyInQuery },
    answers: { 200: { description: 'Paid and credited.', schema: Topup } },
    offer: { description: 'What can be paid.', schema: TopupOfferBody },
    refusals: [
      'key_not_found',
      'key_revoked',
      'payment_already_used',
      'settlement_pending',
      'data_not_ready',
    ],
    async handle({ parameters: { usd, key }, caller: without, ...facts }) {
      const signedIn = without.kind === 'anonymous' ? await deps.signedIn(facts) : undefined
      const caller = signedIn ?? without
      const payee = await choosePayee(deps, caller, key)
      if (isRefusal(payee)) return payee
      return topUp(deps, { caller, payee, amount: usd, facts })
    },
  })
}

/** Whoever wants more pays by a transfer and POST /api/sessions/prepay. */
const TOPUP_MAX: MicroUsd = 1_000_000_000n

function usdInQuery(smallest: MicroUsd): Parameter<MicroUsd> {
  return {
    in: 'query',
    description: 'US dollars to pay.',
    schema: Type.String({ default: formatDecimal(smallest, 6) }),
    example: '1',
    parse(raw = formatDecimal(smallest, 6)) {
      const amount = parseDecimal(raw, 6)
      if (amount !== undefined && amount >= smallest && amount <= TOPUP_MAX)
        return parsed(amount, formatDecimal(amount, 6))
      const [least, most] = [smallest, TOPUP_MAX].map((each) => formatDecimal(each, 6))
      return { ok: false, reason: `must be a decimal number from ${least} to ${most}` }
    },
  }
}

const keyInQuery: Parameter<string | undefined> = {
  in: 'query',
  description: 'publicId of the key to credit; anyone may pay for any key.',
  schema: Type.String({ pattern: '^[0-9a-f]{8}$' }),
  parse(raw) {
    if (raw === undefined) return parsed(undefined, null)
    if (/^[0-9a-f]{8}$/.test(raw)) return parsed(raw, raw)
    return { ok: false, reason: 'must be 8 hex characters in lower case' }
  },
}

async function choosePayee(
  deps: TopupDeps,
  caller: Caller,
  publicId: string | undefined,
): Promise<Payee | Refusal> {
  if (publicId === undefined) return payeeOf(caller)
  const key = await deps.findKey(publicId)
  if (key === undefined) return refuse('key_not_found', 'there is no key with this publicId')
  if (key.revokedUnix !== null)
    return refuse('key_revoked', 'this key is revoked; name another one')
  return { kind: 'key', publicId, wallet: key.wallet }
}

interface TopupInput {
  readonly caller: Caller
  readonly payee: Payee
  readonly amount: MicroUsd
  readonly facts: Pick<RequestFacts, 'headers'>
}

async function topUp(deps: TopupDeps, input: TopupInput): Promise<Outcome> {
  const { headers } = input.facts
  if (!carriesPayment(headers)) return offer(deps, input)
  const received = await deps.desk.receive(headers, [input.amount])
  if (isRefusal(received)) return received
  if (received.kind === 'rejected')
    return offer(deps, input, { reason: received.reason, payload: received.payload })
  const { payload } = received
  const outcome = await deps.desk.settle({
    payload,
    payee: input.payee,
    within: (_connection, _intent, credit) => credit(),
  })
  if (outcome.kind === 'used') return refuseUsed()
  if (outcome.kind === 'pending') return refusePending(outcome.transaction)
  if (outcome.kind === 'rejected') return offer(deps, input, { reason: outcome.reason, payload })
  return answerPaid(deps, input, { payload, ...outcome })
}

interface Rejected {
  readonly reason: PaymentFault
  readonly payload: PaymentPayload | undefined
}

async function offer(deps: TopupDeps, input: TopupInput, rejected?: Rejected): Promise<Outcome> {
  if (!(await deps.availability.isAvailable()))
    return refuse('data_not_ready', 'payments cannot be settled at the moment; a transfer can', {
      retryAfterSeconds: RETRY_SECONDS,
    })
  const offered = {
    amounts: [input.amount],
    resourceUrl: `${deps.publicBaseUrl}${PATH}?${queryOf(input)}`,
    ...(rejected !== undefined && { error: rejected.reason }),
  }
  const receipt = rejected && { ...rejected, transaction: null, errorReason: rejected.reason }
  return {
    kind: 'payment-required',
    body: topupOfferBody(deps, offered),
    headers: {
      'PAYMENT-REQUIRED': paymentRequiredHeader(deps, offered),
      ...(receipt !== undefined && paymentResponseHeaders(deps.payment, receipt)),
    },
  }
}

const RETRY_SECONDS = 60

function queryOf({ amount, payee, caller }: TopupInput): URLSearchParams {
  const query = new URLSearchParams({ usd: formatDecimal(amount, 6) })
  const isOwn =
    caller.kind === 'keyed' && payee.kind === 'key' && caller.publicId === payee.publicId
  if (payee.kind === 'key' && !isOwn) query.set('key', payee.publicId)
  return query
}

interface Paid {
  readonly payload: PaymentPayload
  readonly deposit: Deposit
  readonly admission: Credited | undefined
}

async function answerPaid(
  deps: TopupDeps,
  { caller, payee }: TopupInput,
  { payload, deposit, admission }: Paid,
): Promise<Outcome> {
  const publicId = payee.kind === 'key' ? (admission?.key ?? payee.publicId) : null
  const account = payee.kind === 'bucket' ? bucketAccount(payee.bucket) : keyAccount(publicId ?? '')
  const isOwn =
    payee.kind === 'bucket' || (caller.kind === 'keyed' && caller.publicId === payee.publicId)
  const balances = await deps.engine.snapshot((reads) => readBalances(reads, [account]))
  const body = {
    txHash: deposit.txHash,
    amountUsd: toUsd(deposit.amount),
    verified: true,
    message: 'verified',
    apiKeyPublicId: publicId,
    payerAddress: showAddress(deposit.from),
    creditedUsd: toUsd(deposit.amount),
    verifiedAt: toIso(unixNow(deps.clock)),
    prepaidBalanceUsd: isOwn ? toUsd(balances.get(account) ?? 0n) : null,
  }
  const receipt = { payload, transaction: deposit.txHash }
  const headers = paymentResponseHeaders(deps.payment, receipt)
  return answer(200, body, { headers: { ...headers, 'Cache-Control': 'no-store' } })
}
