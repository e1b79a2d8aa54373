import type { Ecosystem, Payment } from '#chains/ecosystem/ecosystem.ts'
import type { Clock } from '#lib/time.ts'
import { DISCOVERY, TOPUP_PATH } from '#money/x402/offers/discovery.ts'
import { paymentRequired } from '#money/x402/offers/offer.ts'
import { OFFERS } from './offered-amounts.ts'

/** What a facilitator's list of services (Bazaar) shows: the offer of the top-up, with our name. */
export function listingOf(
  { service, pricePerCall }: Pick<Ecosystem, 'service' | 'pricePerCall'>,
  { payment, clock }: { readonly payment: Payment; readonly clock: Clock },
) {
  const offer = paymentRequired(
    { payment, pricePerCall, clock },
    {
      amounts: OFFERS,
      resourceUrl: `${service.publicBaseUrl}${TOPUP_PATH}`,
      extensions: DISCOVERY,
    },
  )
  const { resource, accepts, extensions } = offer
  return { resource: { ...resource, serviceName: service.name }, accepts, extensions }
}
