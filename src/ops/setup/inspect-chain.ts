import { type Address, parseHash, showAddress } from '#base/address.ts'
import { EndpointError } from '#chain/rpc-error.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { findDomain, type TokenDomain } from '#index/prove-ecosystem.ts'
import {
  ask,
  type ChainView,
  describeError,
  readToken,
  SetupError,
  type TokenFacts,
} from './chain-view.ts'
import { type Emitted, listEvents } from './list-events.ts'
import {
  type Around,
  type Floor,
  findPools,
  measureDepth,
  type Pool,
  priceQuote,
  proposeFloor,
  type QuotePrice,
} from './price-token.ts'

export interface Findings {
  readonly entry: EcosystemFile['chains'][number]
  readonly notes: Readonly<Record<string, string>>
  readonly token: TokenFacts
  /** Whether the token is a share of a vault (ERC-4626). */
  readonly isShare: boolean
  readonly pool: FoundPool | undefined
  /** The price of the pool's quote, and of what that is traded against. */
  readonly quotes: readonly QuotePrice[]
  readonly asset: PaymentAsset | undefined
  /** What the token and the named contracts emitted lately. */
  readonly events: Emitted
}

interface Inspection {
  readonly view: ChainView
  readonly address: Address
  /** Contracts that the operator named: pools, or what pays holders. */
  readonly more: readonly Address[]
  onStep(step: string): void
}

export async function inspectChain({ view, address, more, onStep }: Inspection): Promise<Findings> {
  onStep('token')
  const token = await readToken(view, address)
  if (token === undefined)
    throw new SetupError(
      `${showAddress(address)} on ${view.name} is not a token: it has no symbol() and decimals(); check the address, or name the one there with --token ${view.name}=0x…`,
    )
  onStep('first block')
  const first = await findFirstBlock(view, address)
  const [{ entry, notes }, vaultAsset] = await Promise.all([
    describeChain(view, first.block),
    ask(view, address, 'asset() view returns (address)'),
  ])
  onStep('pools')
  const around = { contracts: more, firstBlock: first.block }
  const { pool, quotes } = await choosePool(view, token, around)
  onStep('events')
  const events = await listEvents(view, { ...around, contracts: [address, ...more] })
  return {
    entry,
    notes: { ...notes, startBlock: first.evidence },
    token,
    isShare: vaultAsset !== undefined,
    pool,
    quotes,
    asset: await readPaymentAsset(view, quotes),
    events,
  }
}

interface FoundPool {
  readonly pool: Pick<Pool, 'kind' | 'address' | 'quote'>
  /** Dollars of its quote side. */
  readonly usd: number
  readonly floor: Floor
}

/** Returns the deepest pool whose quote has a price, and the price of the quote. */
async function choosePool(
  view: ChainView,
  token: TokenFacts,
  around: Around,
): Promise<{ readonly pool: FoundPool | undefined; readonly quotes: readonly QuotePrice[] }> {
  const pools = await findPools(view, token, around)
  const byQuote = [...Map.groupBy(pools, ({ quote }) => quote.address).values()]
  const valued = await Promise.all(
    byQuote.map(async (same) => {
      const [first] = same
      const quotes = first === undefined ? [] : await priceQuote(view, first.quote, around)
      const [own] = quotes
      if (own === undefined) return []
      return same.map((pool) => ({
        pool,
        quotes,
        quoteUsd: own.usd,
        usd: measureDepth(pool) * own.usd,
      }))
    }),
  )
  const [best] = valued.flat().sort((a, b) => b.usd - a.usd)
  if (best === undefined) return { pool: undefined, quotes: [] }
  const { pool, usd, quotes, quoteUsd } = best
  return { pool: { pool, usd, floor: proposeFloor(pool, quoteUsd) }, quotes }
}

async function describeChain(
  view: ChainView,
  startBlock: number,
): Promise<{
  readonly entry: Findings['entry']
  readonly notes: Readonly<Record<string, string>>
}> {
  const blockSeconds = await measureBlockSeconds(view)
  const finality = await chooseFinality(view)
  const proofs = await chooseProofs(view)
  const entry: Findings['entry'] = {
    name: view.name,
    id: view.id,
    rpcUrls: [...view.urls],
    ...(view.known && { explorerUrl: view.known.explorerUrl }),
    startBlock,
    pollIntervalMs: Math.round(Math.min(4_000, Math.max(500, blockSeconds * 500))),
    finality: finality.value,
    staleAfterSeconds: Math.max(60, Math.ceil(blockSeconds * 10)),
    ...(proofs.value === 'deposits' && { proofs: proofs.value }),
  }
  return {
    entry,
    notes: {
      pollIntervalMs: `a block every ${blockSeconds.toFixed(1)} s lately`,
      finality: finality.note,
      ...(proofs.value === 'deposits' && { proofs: proofs.note }),
    },
  }
}

const PACE_BLOCKS = 200

async function measureBlockSeconds({ source, headNumber }: ChainView): Promise<number> {
  const first = Math.max(0, headNumber - PACE_BLOCKS)
  const [older, newer] = await Promise.all([source.header(first), source.header(headNumber)])
  if (older === undefined || newer === undefined || headNumber === first) return 2
  return Math.max(0.1, (newer.timestamp - older.timestamp) / (headNumber - first))
}

const DEPTH = 64

async function chooseFinality({ source, headNumber }: ChainView) {
  try {
    const [safe, finalized] = await Promise.all([source.header('safe'), source.header('finalized')])
    if (safe !== undefined && finalized !== undefined)
      return {
        value: 'tag' as const,
        note: `the node's final block is ${headNumber - finalized.number} behind its head`,
      }
  } catch (error) {
    if (!(error instanceof EndpointError)) throw error
  }
  return { value: DEPTH, note: 'the node knows no final block; a depth in blocks' }
}

async function chooseProofs({ source, headNumber }: ChainView) {
  try {
    const block = await source.header(Math.max(0, headNumber - 2))
    if (block !== undefined) await source.provenBlock(block)
    return { value: 'every' as const, note: '' }
  } catch (error) {
    return {
      value: 'deposits' as const,
      note: `the node cannot prove whole blocks (${describeError(error)})`,
    }
  }
}

/** Bisects to the block of the contract's creation; needs a node with old state. */
async function findFirstBlock(
  { node, headNumber }: ChainView,
  address: Address,
): Promise<{ readonly block: number; readonly evidence: string }> {
  const hasCode = async (block: number) =>
    (await node.ask('eth_getCode', address, `0x${block.toString(16)}`)) !== '0x'
  try {
    let low = -1
    let high = headNumber
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (await hasCode(middle)) high = middle
      else low = middle
    }
    return { block: high, evidence: 'the block of its creation, found by bisection' }
  } catch (error) {
    return {
      block: 0,
      evidence: `unknown: the node has no old state (${describeError(error)}); the block of the token's creation is faster to index`,
    }
  }
}

interface PaymentAsset {
  readonly token: TokenFacts
  readonly domain: TokenDomain
}

/** Finds the chain's USDC, else a six-decimal token of that symbol among these, with its signing domain. */
async function readPaymentAsset(
  view: ChainView,
  quotes: readonly QuotePrice[],
): Promise<PaymentAsset | undefined> {
  const known = view.known?.usdc
  const named = quotes.filter(({ token }) => token.symbol === 'USDC')
  for (const address of known === undefined ? named.map((each) => each.token.address) : [known]) {
    const token = await readToken(view, address)
    if (token?.decimals !== 6) continue
    const separator = await ask(view, address, 'DOMAIN_SEPARATOR() view returns (bytes32)')
    if (typeof separator !== 'string') continue
    const domain = await findDomain(view.source, address, parseHash(separator) ?? '0x')
    if (domain !== undefined) return { token, domain }
  }
  return undefined
}
