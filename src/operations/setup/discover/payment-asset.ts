import { findDomain, type TokenDomain } from '#chains/indexer/token-domain.ts'
import { parseAddress, parseHash } from '#domain/address.ts'
import { ask, type ChainView } from './chain-view.ts'
import { readToken, type TokenFacts } from './token-facts.ts'

export interface PaymentAsset {
  readonly token: TokenFacts
  readonly domain: TokenDomain
}

/** Finds the chain's USDC, else a six-decimal token of that symbol among these, with its signing domain. */
export async function readPaymentAsset(
  view: ChainView,
  others: readonly TokenFacts[],
): Promise<PaymentAsset | undefined> {
  const known = view.known && parseAddress(view.known.usdc.toLowerCase())
  const named = others.filter(({ symbol }) => symbol === 'USDC').map(({ address }) => address)
  for (const address of known === undefined ? named : [known]) {
    const token = await readToken(view, address)
    if (token?.decimals !== 6) continue
    const separator = await ask(view, address, 'DOMAIN_SEPARATOR() view returns (bytes32)')
    if (typeof separator !== 'string') continue
    const domain = await findDomain(view.source, address, parseHash(separator) ?? '0x')
    if (domain !== undefined) return { token, domain }
  }
  return undefined
}
