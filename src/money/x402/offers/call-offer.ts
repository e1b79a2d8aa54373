import type { X402Deps } from '../x402-deps.ts'
import { errorText, paymentRequiredHeader } from './offer.ts'

type Deps = Pick<X402Deps, 'payment' | 'pricePerCall' | 'clock' | 'amounts' | 'publicBaseUrl'>

/** Proxies limit headers to 4 KB by default; the others need about 1 KB. */
export const OFFER_LENGTH_MAX = 2_800

/** Drops the query if the header is too long. */
export function callOfferHeader(
  deps: Deps,
  { target, error }: { readonly target: string; readonly error: string | undefined },
): string {
  const [path = ''] = target.split('?', 1)
  const header = (part: string) =>
    paymentRequiredHeader(deps, {
      amounts: deps.amounts,
      resourceUrl: deps.publicBaseUrl + part,
      ...(error !== undefined && { error: errorText(error) }),
    })
  const whole = header(target)
  return whole.length <= OFFER_LENGTH_MAX ? whole : header(path)
}
