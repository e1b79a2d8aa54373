import type { Address } from 'viem'
import { accounts, addresses, burnAddress, type ChainName } from '#devnet/addresses.ts'

export type Ticker = 'GRAVE' | 'CRYPT' | 'WETH' | 'USDC'

/** Tokens whose every transfer counts. */
export type Followed = 'GRAVE' | 'CRYPT'
export const followed: readonly Followed[] = ['GRAVE', 'CRYPT']

/** A token of the local ecosystem, written down a second time, apart from the ecosystem file. */
export interface LocalToken {
  readonly symbol: Ticker
  readonly name: string
  readonly role: 'primary' | 'secondary' | 'reward'
  readonly decimals: number
  readonly addresses: Readonly<Record<ChainName, Address>>
}

export const localTokens: readonly LocalToken[] = [
  token('GRAVE', 'Gravestone', 'primary', 18),
  token('CRYPT', 'Crypt', 'secondary', 18),
  token('WETH', 'Wrapped Ether', 'reward', 18),
  token('USDC', 'USD Coin', 'reward', 6),
]

/** Addresses whose tokens do not circulate and that are no holders, lower-case. */
export const lockedAddresses: readonly Address[] = [burnAddress, accounts.treasury].map(
  (each) => each.toLowerCase() as Address,
)

export function tokenOf(symbol: Ticker): LocalToken {
  const found = localTokens.find((each) => each.symbol === symbol)
  if (found === undefined) throw new Error(`no token ${symbol}`)
  return found
}

function token(
  symbol: Ticker,
  name: string,
  role: LocalToken['role'],
  decimals: number,
): LocalToken {
  const key = symbol.toLowerCase() as Lowercase<Ticker>
  const { base, ethereum, arbitrum } = addresses
  const at = { base: base[key], ethereum: ethereum[key], arbitrum: arbitrum[key] }
  return { symbol, name, role, decimals, addresses: at }
}
