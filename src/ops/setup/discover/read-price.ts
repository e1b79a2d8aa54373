import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import type { PriceFile } from '#ecosystem/price-kinds.ts'
import { type FoundReading, findReading } from '#index/prove-prices.ts'
import type { ChainView } from './chain-view.ts'
import type { TokenFacts } from './token-facts.ts'

interface Candidate {
  readonly price: Omit<PriceFile, 'chain' | 'quote'>
  readonly token: TokenFacts
  /** Undefined for a feed in dollars. */
  readonly quote?: TokenFacts
  readonly firstBlock: number
}

export type Newest = Extract<FoundReading, { kind: 'read' }>

/** The newest event of a possible source, as the index would read it; undefined if none was read. */
export async function readNewest(
  { name, id, source, headNumber: head }: ChainView,
  { price, token, quote, firstBlock: startBlock }: Candidate,
): Promise<Newest | undefined> {
  if (token.decimals > DECIMALS_MAX || (quote?.decimals ?? 0) > DECIMALS_MAX) return undefined
  const entry = { ...price, chain: name, ...(quote && { quote: 'QUOTE' }) }
  const facts = ({ decimals, address }: TokenFacts) => ({
    decimals,
    addresses: { [name]: address },
  })
  const { tokens } = parseEcosystem('candidate', {
    service: { name: 'candidate', keyPrefix: 'svc', publicBaseUrl: 'http://127.0.0.1' },
    chains: [{ ...CHAIN, name, id, startBlock }],
    tokens: [
      { symbol: 'TOKEN', name: 'token', role: 'primary', ...facts(token), price: entry },
      ...(quote ? [{ ...QUOTE, ...facts(quote) }] : []),
    ],
  })
  const [own, other = null] = tokens
  const [read] = own?.prices ?? []
  if (own === undefined || read === undefined || read.chain === null) return undefined
  const found = await findReading(source, { price: read, pair: { token: own, quote: other }, head })
  return found.kind === 'read' ? found : undefined
}

/** The most that the ecosystem file allows. */
const DECIMALS_MAX = 36

const CHAIN = {
  rpcUrls: ['http://127.0.0.1'],
  pollIntervalMs: 1_000,
  finality: 'tag',
  staleAfterSeconds: 60,
} as const

const QUOTE = {
  symbol: 'QUOTE',
  name: 'quote',
  role: 'reward',
  price: { kind: 'fixed', usd: '1' },
} as const
