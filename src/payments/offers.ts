import { showAddress } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import { assert } from '#lib/assert.ts'
import { type Clock, unixNow } from '#lib/clock.ts'
import { toDate } from '#lib/day.ts'
import { formatDecimal } from '#lib/decimal.ts'
import { Type } from '#lib/type.ts'

/** The body of every 402: these members, no more and no fewer. */
export const PaymentRequiredBody = Type.Object(
  {
    x402Version: Type.Literal(1),
    error: Type.Literal('payment_required'),
    errorMessage: Type.String(),
    accepts: Type.Array(
      Type.Object(
        {
          scheme: Type.Literal('exact'),
          network: Type.String({ description: 'Name of the chain to pay on.' }),
          asset: Type.String({ description: 'Contract of the payment asset (EIP-55).' }),
          assetSymbol: Type.String(),
          maxAmountRequired: Type.String({ description: 'Price per call in USD.' }),
          payTo: Type.String({ description: 'The wallet to pay (EIP-55).' }),
          description: Type.String(),
          docs: Type.String(),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)

export interface OfferDeps {
  readonly payment: Payment
  readonly pricePerCall: MicroUsd
  /** From the configuration, never from a request. */
  readonly pricingDocsUrl: string
  readonly clock: Clock
}

/** The contract's 402 body: one option, USDC to our wallet on the payment chain. */
export function paymentRequiredBody(deps: OfferDeps, errorMessage: string) {
  const { payment } = deps
  const price = formatDecimal(deps.pricePerCall, 6)
  return {
    x402Version: 1,
    error: 'payment_required',
    errorMessage,
    accepts: [
      {
        scheme: 'exact',
        network: payment.chain.name,
        asset: showAddress(payment.asset),
        assetSymbol: payment.symbol,
        maxAmountRequired: price,
        payTo: showAddress(currentPayTo(deps)),
        description: `${price} USD per call beyond the daily quota, from a balance prepaid in ${payment.symbol}: transfer any sum to payTo, then POST the transaction to /api/sessions/prepay.`,
        docs: deps.pricingDocsUrl,
      },
    ],
  } as const
}

/** The newest wallet whose date has come; payments to the older ones still count. */
export function currentPayTo(deps: Pick<OfferDeps, 'payment' | 'clock'>) {
  const today = toDate(unixNow(deps.clock))
  const listed = deps.payment.payTo
  const current = listed.filter((each) => each.since <= today).at(-1) ?? listed[0]
  assert(current !== undefined, 'the ecosystem lists a wallet to pay')
  return current.address
}
