import Type from 'typebox'
import type { ServiceFacts } from './service-facts.ts'

const option = Type.Object(
  {
    scheme: Type.Literal('exact'),
    network: Type.String(),
    asset: Type.String({ description: 'Contract address of the payment asset' }),
    assetSymbol: Type.String(),
    maxAmountRequired: Type.String({ description: 'Price per call in decimal US dollars' }),
    payTo: Type.String(),
    description: Type.String(),
    docs: Type.String({ format: 'uri' }),
  },
  { additionalProperties: false },
)

/** The body of a 402: the contract's members, none added, none left out. */
export const paymentRequiredSchema = Type.Object(
  {
    x402Version: Type.Literal(1),
    error: Type.Literal('payment_required'),
    errorMessage: Type.String(),
    accepts: Type.Array(option, { minItems: 1 }),
  },
  { additionalProperties: false },
)

/** The body as the documentation shows it. */
export function paymentRequiredExample(facts: ServiceFacts): unknown {
  const { payment, pricePerCallUsd, pricingDocsUrl } = facts
  return {
    x402Version: 1,
    error: 'payment_required',
    errorMessage: 'Daily quota exhausted and no prepaid balance.',
    accepts: [
      {
        scheme: 'exact',
        network: payment.network,
        asset: payment.asset,
        assetSymbol: payment.symbol,
        maxAmountRequired: pricePerCallUsd,
        payTo: payment.payTo,
        description: 'One API call',
        docs: pricingDocsUrl,
      },
    ],
  }
}
