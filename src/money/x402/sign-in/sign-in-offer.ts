import { toIso } from '#lib/time.ts'
import { networkOf } from '../offers/offer.ts'
import { SIGN_IN_MS, type SignInDeps } from './sign-in-message.ts'

/** Name of the extension, and of the header that answers it. */
export const SIGN_IN_WITH_X = 'sign-in-with-x'

const TEXT = { type: 'string' } as const

const FIELDS = {
  domain: TEXT,
  address: TEXT,
  uri: TEXT,
  version: TEXT,
  chainId: TEXT,
  type: TEXT,
  nonce: TEXT,
  issuedAt: TEXT,
  signature: TEXT,
} as const

const SCHEMA = { type: 'object', properties: FIELDS, required: Object.keys(FIELDS) } as const

export function signInOffer(
  deps: SignInDeps & { readonly newId: () => string },
  resourceUrl: string,
) {
  const nowMs = deps.clock()
  const info = {
    domain: new URL(deps.publicBaseUrl).host,
    uri: resourceUrl,
    statement: 'Use the prepaid balance of this wallet.',
    version: '1',
    nonce: deps.newId().replaceAll('-', ''),
    issuedAt: toIso(Math.floor(nowMs / 1000)),
    expirationTime: toIso(Math.floor((nowMs + SIGN_IN_MS) / 1000)),
    resources: [resourceUrl],
  }
  const supportedChains = [{ chainId: networkOf(deps.payment.chain.id), type: 'eip191' }] as const
  return { [SIGN_IN_WITH_X]: { info, supportedChains, schema: SCHEMA } }
}
