import { signInOffer } from '../sign-in/sign-in-offer.ts'
import type { X402Deps } from '../x402-deps.ts'
import { paymentRequiredHeader } from './offer.ts'

type Deps = Pick<
  X402Deps,
  'payment' | 'pricePerCall' | 'clock' | 'newId' | 'amounts' | 'publicBaseUrl'
>

/**
 * Proxies take four kilobytes of response headers by default. The other headers of a 402 have about
 * 750 bytes and a receipt 300 more; the rest is left for what proxies add themselves.
 */
export const OFFER_LENGTH_MAX = 2_800

/**
 * The header `PAYMENT-REQUIRED` of a call, whatever its URL: where that is too long its query is
 * left out, then the sign-in.
 */
export function callOfferHeader(
  deps: Deps,
  input: {
    /** Path and query of the call. */
    readonly target: string
    readonly offersSignIn: boolean
    readonly error: string | undefined
  },
): string {
  const { target, offersSignIn, error } = input
  const [path = ''] = target.split('?', 1)
  const header = (part: string, withSignIn: boolean) => {
    const resourceUrl = deps.publicBaseUrl + part
    return paymentRequiredHeader(deps, {
      amounts: deps.amounts,
      resourceUrl,
      ...(withSignIn && { extensions: signInOffer(deps, resourceUrl) }),
      ...(error !== undefined && { error }),
    })
  }
  for (const part of [target, path]) {
    const whole = header(part, offersSignIn)
    if (whole.length <= OFFER_LENGTH_MAX) return whole
  }
  return header(path, false)
}
