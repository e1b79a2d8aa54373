import { parseAddress } from '#domain/address.ts'
import { findDomain, type TokenDomain } from '#indexer/token-domain.ts'
import { ask, type ChainView } from './chain-view.ts'
import { readToken, type TokenFacts } from './token-facts.ts'

export interface PaymentAsset {
  readonly token: TokenFacts
  /** EIP-712, for x402 payments. */
  readonly domain: TokenDomain
}

/** The chain's USDC, with the domain that its contract signs for. */
export async function readPaymentAsset(view: ChainView): Promise<PaymentAsset | undefined> {
  const address = view.known && parseAddress(view.known.usdc.toLowerCase())
  const token = address && (await readToken(view, address))
  if (address === undefined || token?.decimals !== 6) return undefined
  const separator = await ask(view, address, 'DOMAIN_SEPARATOR() view returns (bytes32)')
  if (typeof separator !== 'string') return undefined
  const domain = await findDomain(view.source, address, separator)
  return domain && { token, domain }
}
