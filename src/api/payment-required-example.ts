import type { ServiceFacts } from './service-facts.ts'

export function paymentRequiredExample(
  facts: Pick<ServiceFacts, 'pricePerCallUsd' | 'pricingDocsUrl'>,
  payment: NonNullable<ServiceFacts['payment']>,
): unknown {
  const { pricePerCallUsd, pricingDocsUrl } = facts
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
        description:
          'What ran out and when it resets, who can mint a key, and how to pay from that wallet.',
        docs: pricingDocsUrl,
      },
    ],
  }
}
