import { type Address, parseHash, showAddress } from '#base/address.ts'
import { EndpointError } from '#chain/rpc-error.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { findCreation, findDomain, type TokenDomain } from '#ops/checks/prove-ecosystem.ts'
import {
  ask,
  type ChainView,
  describeError,
  readToken,
  SetupError,
  type TokenFacts,
} from './chain-view.ts'
import { type FoundPrice, findPrice } from './price-token.ts'

export interface Findings {
  readonly entry: EcosystemFile['chains'][number]
  readonly notes: Readonly<Record<string, string>>
  readonly token: TokenFacts
  readonly price: FoundPrice | undefined
  readonly asset: PaymentAsset | undefined
}

/** `contracts`: where the operator says that pools may be. */
export async function inspectChain(
  view: ChainView,
  address: Address,
  contracts: readonly Address[],
): Promise<Findings> {
  const token = await readToken(view, address)
  if (token === undefined)
    throw new SetupError(
      `${showAddress(address)} on ${view.name} is not a token: it has no symbol() and decimals(); check the address, or name the one there with --token ${view.name}=0x…`,
    )
  const price = await findPrice(view, token, contracts)
  return {
    token,
    price,
    asset: await readAsset(view, price),
    ...(await describeChain(view, token)),
  }
}

async function describeChain(
  view: ChainView,
  token: TokenFacts,
): Promise<Pick<Findings, 'entry' | 'notes'>> {
  const first = await findFirstBlock(view, token.address)
  const blockSeconds = await measureBlockSeconds(view)
  const finality = await chooseFinality(view)
  const unproven = await findUnproven(view)
  const entry: Findings['entry'] = {
    name: view.name,
    id: view.id,
    rpcUrls: [...view.urls],
    ...(view.known && { explorerUrl: view.known.explorerUrl }),
    startBlock: first.block,
    pollIntervalMs: Math.round(Math.min(4_000, Math.max(500, blockSeconds * 500))),
    finality: finality.value,
    staleAfterSeconds: Math.max(60, Math.ceil(blockSeconds * 10)),
    ...(unproven && { proofs: 'deposits' }),
  }
  const notes = {
    startBlock: first.evidence,
    pollIntervalMs: `a block every ${blockSeconds.toFixed(1)} s lately`,
    finality: finality.note,
    ...(unproven && { proofs: `the node cannot prove whole blocks (${unproven})` }),
  }
  return { entry, notes }
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

/** Undefined if the node proves a block. */
async function findUnproven({ source, headNumber }: ChainView): Promise<string | undefined> {
  try {
    const block = await source.header(Math.max(0, headNumber - 2))
    if (block !== undefined) await source.provenBlock(block)
    return undefined
  } catch (error) {
    return describeError(error)
  }
}

/** Needs a node with old state. */
async function findFirstBlock({ source, headNumber }: ChainView, token: Address) {
  try {
    const block = await findCreation(source, token, headNumber)
    return { block, evidence: 'the block of its creation, found by bisection' }
  } catch (error) {
    const evidence = `unknown: the node has no old state (${describeError(error)}); the block of the token's creation is faster to index`
    return { block: 0, evidence }
  }
}

interface PaymentAsset {
  readonly token: TokenFacts
  readonly domain: TokenDomain
}

/** Finds the chain's USDC, else the one that prices lead to, with its signing domain. */
async function readAsset(
  view: ChainView,
  price: FoundPrice | undefined,
): Promise<PaymentAsset | undefined> {
  const named = price?.path.find(({ token }) => token.symbol === 'USDC')
  const address = view.known?.usdc ?? named?.token.address
  const token = address && (await readToken(view, address))
  if (token?.decimals !== 6) return undefined
  const separator = await ask(view, token.address, 'DOMAIN_SEPARATOR() view returns (bytes32)')
  const hash = parseHash(String(separator))
  const domain = hash && (await findDomain(view.source, token.address, hash))
  return domain && { token, domain }
}
