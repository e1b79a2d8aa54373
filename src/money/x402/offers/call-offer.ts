import { signInOffer } from '../sign-in/sign-in-offer.ts'
import type { X402Deps } from '../x402-deps.ts'
import { errorText, paymentRequiredHeader } from './offer.ts'

type Deps = Pick<
  X402Deps,
  'payment' | 'pricePerCall' | 'clock' | 'newId' | 'amounts' | 'publicBaseUrl'
>

/** Proxies limit headers to 4 KB by default; the others need about 1 KB. */
export const OFFER_LENGTH_MAX = 2_800

/** Drops the query, then the sign-in, if the header is too long. */
export function callOfferHeader(
  deps: Deps,
  input: {
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
      ...(error !== undefined && { error: errorText(error) }),
    })
  }
  for (const part of [target, path]) {
    const whole = header(part, offersSignIn)
    if (whole.length <= OFFER_LENGTH_MAX) return whole
  }
  return header(path, false)
}
