import type { EcosystemFile } from '#chains/ecosystem/ecosystem-file.ts'
import localEcosystem from '#chains/ecosystem/ecosystems/local.ts'
import { accounts, burnAddress } from '#devnet/addresses.ts'
import type { Chance } from '#test/simulation/chance.ts'

/** The chains that a file may name, and whose contracts each one has. */
export const CHAINS = [
  { name: 'base', id: 8453, contracts: 'base' },
  { name: 'ethereum', id: 1, contracts: 'ethereum' },
  { name: 'arbitrum', id: 42161, contracts: 'ethereum' },
] as const

export type ChainName = (typeof CHAINS)[number]['name']

/** No chain has events before this block, so any startBlock up to it works. */
export const FIRST_LOG_BLOCK = 6

const ZERO = '0x0000000000000000000000000000000000000000'

/** A valid file for the local ecosystem's contracts, with random changes. */
export function randomFile(
  chance: Chance,
  rpcUrls: Readonly<Record<ChainName, string>>,
): EcosystemFile {
  const kept = CHAINS.filter(({ name }) => name === 'base' || chance.happens(0.6))
  const names = kept.map(({ name }) => name)
  const edits = [tokensOf, supplyOf, eventsOf, paymentOf]
  const file = edits.reduce((made, edit) => edit(made, chance), onChains(names))
  return {
    ...file,
    chains: kept.map(({ name, id }) => ({
      name,
      id,
      rpcUrls: [rpcUrls[name]],
      startBlock: chance.pick([0, 0, chance.integer(0, FIRST_LOG_BLOCK)]),
      pollIntervalMs: 100,
      finality: 'tag',
      proofs: 'deposits',
      staleAfterSeconds: 60,
    })),
  }
}

/** The local ecosystem on these chains; arbitrum has the same contracts as ethereum. */
function onChains(names: readonly ChainName[]): EcosystemFile {
  const on = <M extends { readonly chain: string }>(list: readonly M[]) =>
    names.flatMap((name) => {
      const contracts = CHAINS.find((each) => each.name === name)?.contracts
      return list
        .filter(({ chain }) => chain === contracts)
        .map((each) => ({ ...each, chain: name }))
    })
  return {
    ...localEcosystem,
    tokens: localEcosystem.tokens.map((token) => {
      const { base = ZERO, ethereum = ZERO } = token.addresses
      const all = { base, ethereum, arbitrum: ethereum }
      const addresses = Object.fromEntries(names.map((name) => [name, all[name]]))
      return { ...token, addresses }
    }),
    burns: on(localEcosystem.burns),
    dividends: on(localEcosystem.dividends),
    graveDigs: on(localEcosystem.graveDigs),
  }
}

function tokensOf(file: EcosystemFile, chance: Chance): EcosystemFile {
  const isNamed = (symbol: string) => file.tokens.some((token) => token.symbol === symbol)
  const isUsdcListed = isNamed('USDC') && chance.happens(0.8)
  const tokens = file.tokens
    .filter(({ symbol }) => symbol !== 'USDC' || isUsdcListed)
    .map((token) => {
      const fixed = { kind: 'fixed', usd: chance.pick(['2', '0.5']) } as const
      const [price] = chance.happens(0.25) ? [fixed] : [token.price].flat()
      if (token.symbol === 'WETH' && price?.kind === 'chainlink')
        return { ...token, price: { ...price, decimals: chance.pick([8, 8, 8, 6]) } }
      const decimals = token.symbol === 'CRYPT' && chance.happens(0.2) ? 9 : token.decimals
      const symbol = token.symbol === 'USDC' && chance.happens(0.2) ? 'USDX' : token.symbol
      return { ...token, symbol, decimals, ...(price && { price }) }
    })
  const [elsewhere, ...others] = Object.keys(tokens[1]?.addresses ?? {}).slice(1)
  // Leave the token off some of the file's chains.
  if (elsewhere === undefined || others.length > 0 || chance.happens(0.7))
    return { ...file, tokens }
  const secondary = tokens[1]
  if (secondary === undefined) return { ...file, tokens }
  const { [elsewhere]: _, ...addresses } = secondary.addresses
  const burns = (file.burns ?? []).filter(
    ({ chain, token }) => chain !== elsewhere || token !== secondary.symbol,
  )
  return { ...file, burns, tokens: tokens.with(1, { ...secondary, addresses }) }
}

function supplyOf(file: EcosystemFile, chance: Chance): EcosystemFile {
  const burnAddresses = chance.happens(0.8) ? [burnAddress] : []
  const held = chance.pick([[accounts.treasury], [], [accounts.treasury, accounts.holder]])
  const nonCirculating = held.map((address) => ({ address, label: 'held back' }))
  return { ...file, supply: { burnAddresses, nonCirculating } }
}

function eventsOf(file: EcosystemFile, chance: Chance): EcosystemFile {
  const some = <M>(list: readonly M[] = []) => list.filter(() => chance.happens(0.85))
  const everywhere = [ZERO, ...(file.supply?.burnAddresses ?? [])]
  return {
    ...file,
    burns: some(file.burns).map((burn) => ({
      ...burn,
      where: { to: chance.pick([everywhere, everywhere, [ZERO]]) },
    })),
    dividends: some(file.dividends),
    graveDigs: some(file.graveDigs),
  }
}

function paymentOf(file: EcosystemFile, chance: Chance): EcosystemFile {
  const [first] = file.payment?.payTo ?? []
  if (first === undefined || file.payment === undefined) return file
  if (chance.happens(0.2)) return withoutPayment(file)
  const later = { address: accounts.operator, since: '2025-06-01' }
  const payTo = chance.happens(0.3) ? [first, later] : [first]
  return { ...file, payment: { ...file.payment, payTo } }
}

function withoutPayment({ payment: _, ...file }: EcosystemFile): EcosystemFile {
  return file
}
