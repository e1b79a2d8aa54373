import { Type } from 'typebox'
import { findKey } from '#accounts/keys/key-store.ts'
import { type Caller, PUBLIC_ID } from '#domain/caller.ts'
import { formatDecimal, type MicroUsd, parseDecimal } from '#domain/money.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import {
  defineRoute,
  type Outcome,
  type Parameter,
  parsed,
  type RequestFacts,
  type Route,
} from '#route/route.ts'
import type { PaymentFault } from './faults.ts'
import { DISCOVERY, TOPUP_PATH } from './offers/discovery.ts'
import { errorText, paymentRequiredHeader, TopupOfferBody, topupOfferBody } from './offers/offer.ts'
import { carriesPayment } from './offers/payment-payload.ts'
import { type PaymentResponse, paymentResponseHeaders } from './offers/payment-response.ts'
import { openPaymentOfCaller, payeeOf, refusePending } from './pay-for-call.ts'
import { type PaymentReceiver, refuseUsed } from './payment-receiver.ts'
import { creditPayment } from './settling/credit-payment.ts'
import type { SettleDeps } from './settling/settle-payment.ts'
import type { Payee } from './settling/x402-payment.ts'
import { answerSettled, refusePendingTopup, Topup } from './topup-answer.ts'

export interface TopupDeps extends SettleDeps {
  readonly receiver: PaymentReceiver
}

export function topupRoutes(deps: TopupDeps): readonly Route[] {
  return [topupRoute(deps, 'GET'), topupRoute(deps, 'POST')]
}

function topupRoute(deps: TopupDeps, method: 'GET' | 'POST'): Route {
  return defineRoute({
    method,
    path: TOPUP_PATH,
    operationId: method === 'GET' ? 'getTopup' : 'topup',
    tag: 'Payment',
    summary: 'Buy prepaid balance with an x402 payment',
    description:
      'Without a payment: 402 with offers for x402 clients, version 1 in the body, version 2 in the header PAYMENT-REQUIRED. With a payment in X-PAYMENT or PAYMENT-SIGNATURE: settles it and credits the key in `key`, else the key in the Authorization header, else the address you call from.',
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
    async handle({ parameters: { usd, key }, caller, ...facts }) {
      const payee = await choosePayee(deps, caller, key)
      if (isRefusal(payee)) return payee
      return topUp(deps, { caller, payee, amount: usd, facts })
    },
  })
}

/** Larger sums take a transfer and POST /api/sessions/prepay. */
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
  schema: Type.String({ pattern: PUBLIC_ID.source }),
  parse(raw) {
    if (raw === undefined) return parsed(undefined, null)
    if (PUBLIC_ID.test(raw)) return parsed(raw, raw)
    return { ok: false, reason: 'must be 8 hex characters in lower case' }
  },
}

async function choosePayee(
  deps: TopupDeps,
  caller: Caller,
  publicId: string | undefined,
): Promise<Payee | Refusal> {
  if (publicId === undefined) return payeeOf(caller)
  const key = await findKey({ run: deps.engine.read }, publicId)
  if (key === undefined)
    return refuse('key_not_found', `there is no key ${publicId}; check the parameter key`)
  if (key.revokedUnix !== null)
    return refuse('key_revoked', `the key ${publicId} is revoked; name another one`)
  const isOwn = caller.kind === 'keyed' && caller.publicId === publicId
  return { kind: 'key', publicId, wallet: key.wallet, isOwn }
}

interface TopupInput {
  readonly caller: Caller
  readonly payee: Payee
  readonly amount: MicroUsd
  readonly facts: Pick<RequestFacts, 'headers' | 'addressBucket'>
}

async function topUp(deps: TopupDeps, input: TopupInput): Promise<Outcome> {
  const { headers } = input.facts
  if (!carriesPayment(headers)) return offer(deps, input)
  const { caller, payee } = input
  const { receiver } = deps
  const received = await receiver.receive(input.facts, { amounts: [input.amount], payee })
  if (isRefusal(received)) return received
  if (received.kind === 'rejected') return reject(deps, input, received)
  const { payload } = received
  if (received.kind === 'crowded') return refusePendingTopup(deps, { payload, transaction: null })
  const paid = { payload, payee }
  const outcome = await (received.kind === 'again' ? receiver.join(paid) : receiver.settle(paid))
  if (outcome.kind === 'used') return refuseUsed()
  if (outcome.kind === 'pending') return refusePendingTopup(deps, { payload, ...outcome })
  if (outcome.kind === 'rejected') return reject(deps, input, { payload, ...outcome })
  if (outcome.kind === 'credited')
    return (
      (await receiver.takeServed(outcome)) ??
      answerSettled(deps, { caller, ...paid, transaction: outcome.transaction })
    )
  const transaction = outcome.paid.deposit.txHash
  try {
    await deps.engine.write((connection) =>
      creditPayment(connection, deps, { ...outcome, isServed: true }),
    )
  } catch (error) {
    deps.report(error)
    return refusePendingTopup(deps, { payload, transaction })
  }
  return answerSettled(deps, { caller, ...paid, transaction })
}

function reject(
  deps: TopupDeps,
  input: TopupInput,
  { reason, payload }: Pick<PaymentResponse, 'payload'> & { readonly reason: PaymentFault },
): Promise<Outcome> {
  const response = { payload, transaction: null, errorReason: reason }
  return offer(deps, input, {
    error: reason,
    headers: paymentResponseHeaders(deps.payment, response),
  })
}

interface Refused {
  readonly error?: PaymentFault
  readonly headers?: Readonly<Record<string, string>>
}

async function offer(
  deps: TopupDeps,
  input: TopupInput,
  { error, headers }: Refused = {},
): Promise<Outcome> {
  const open = await openPaymentOfCaller(deps, input.caller)
  if (open !== undefined) return refusePending(open.txHash)
  if (error === 'settlement_unavailable' || !(await deps.readiness.isReady()))
    return refuse(
      'data_not_ready',
      'x402 payments cannot be settled at the moment; try again later, or pay by transfer and POST /api/sessions/prepay',
      {
        retryAfterSeconds: RETRY_SECONDS,
        ...(headers !== undefined && { headers }),
      },
    )
  const offered = {
    amounts: [input.amount],
    resourceUrl: `${deps.publicBaseUrl}${TOPUP_PATH}?${queryOf(input)}`,
    extensions: DISCOVERY,
    ...(error !== undefined && { error: errorText(error) }),
  }
  return {
    kind: 'payment-required',
    body: topupOfferBody(deps, offered),
    headers: { 'PAYMENT-REQUIRED': paymentRequiredHeader(deps, offered), ...headers },
  }
}

const RETRY_SECONDS = 60

function queryOf(input: TopupInput): URLSearchParams {
  const { amount, payee } = input
  const query = new URLSearchParams({ usd: formatDecimal(amount, 6) })
  if (payee.kind === 'key' && !payee.isOwn) query.set('key', payee.publicId)
  return query
}
