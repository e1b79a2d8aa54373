import localEcosystem, { type LocalFile } from '#devnet/local-ecosystem.ts'

/** The one chain of the benchmark. */
export const benchChain = { name: 'base', id: 8453 } as const

/** The reader measures the index, not the quota. */
const CALLS_A_DAY = 1_000_000_000

/** A made-up chain ends in the past; it must not count as stale. */
const STALE_AFTER_SECONDS = 1_000_000_000

/** The local ecosystem on one chain behind one endpoint, as an operator would write it. */
export function benchEcosystem(rpcUrls: readonly string[]): LocalFile {
  const local: LocalFile = localEcosystem
  const onChain = ({ chain }: { readonly chain: string }) => chain === benchChain.name
  return {
    ...local,
    chains: local.chains
      .filter(({ name }) => name === benchChain.name)
      .map((chain) => ({
        ...chain,
        rpcUrls: [...rpcUrls],
        staleAfterSeconds: STALE_AFTER_SECONDS,
        // Made-up blocks have no provable hashes.
        proofs: 'deposits' as const,
      })),
    tokens: local.tokens.map((token) => ({
      ...token,
      addresses: { [benchChain.name]: token.addresses[benchChain.name] ?? '' },
    })),
    burns: local.burns.filter(onChain),
    dividends: local.dividends.filter(onChain),
    graveDigs: local.graveDigs.filter(onChain),
    quotas: { anonymous: CALLS_A_DAY, free: CALLS_A_DAY, premium: CALLS_A_DAY },
  }
}

type Hex = `0x${string}`

/** Addresses of the ecosystem's contracts and accounts, lower-case. */
export const benchAddresses = readAddresses(benchEcosystem([]))

function readAddresses(file: LocalFile) {
  const token = (symbol: string) => file.tokens.find((each) => each.symbol === symbol)
  const lower = (text: string | undefined): Hex => `0x${(text ?? '').slice(2).toLowerCase()}`
  const tokenAddress = (symbol: string) => lower(token(symbol)?.addresses[benchChain.name])
  const source = (symbol: string) => lower([token(symbol)?.price].flat()[0]?.address)
  return {
    grave: tokenAddress('GRAVE'),
    crypt: tokenAddress('CRYPT'),
    weth: tokenAddress('WETH'),
    usdc: tokenAddress('USDC'),
    gravePair: source('GRAVE'),
    cryptPair: source('CRYPT'),
    feed: source('WETH'),
    distributor: lower(file.dividends[0]?.address),
    graveyard: lower(file.graveDigs[0]?.address),
    treasury: lower(file.supply.nonCirculating?.[0]?.address),
    dead: lower(file.supply.burnAddresses?.[0]),
    payTo: lower(file.payment.payTo[0]?.address),
    zero: lower(`0x${'0'.repeat(40)}`),
  } as const
}
