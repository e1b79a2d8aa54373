import { from } from 'ox/AbiFunction'
import type { Address } from '#base/address.ts'
import type { Clock } from '#base/time.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import { EndpointError } from '#chain/rpc-error.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { callView } from '#index/call-view.ts'
import { type Node, openNode } from '../node.ts'
import { KNOWN_CHAINS, type KnownChain } from './known-chains.ts'

export interface ChainView {
  readonly name: string
  readonly id: number
  readonly known: KnownChain | undefined
  readonly node: Node
  readonly source: ChainSource
  readonly headNumber: number
  readonly clock: Clock
}

export type ChainEntry = EcosystemFile['chains'][number]

export class SetupError extends Error {
  override readonly name = 'SetupError'
}

/** URLs of one chain id become one chain. Reports every URL that fails. */
export async function openChains(
  urls: readonly string[],
  clock: Clock,
): Promise<readonly (ChainView & { readonly urls: readonly string[] })[]> {
  const problems: string[] = []
  const byId = new Map<number, Node[]>()
  for (const url of urls) {
    if (!/^https?:/.test(url) || !URL.canParse(url))
      throw new SetupError(`--rpc: not an http(s) URL: "${url}"; write https://… or http://…`)
    const node = openNode(url)
    try {
      const id = Number(await node.ask('eth_chainId'))
      byId.set(id, [...(byId.get(id) ?? []), node])
    } catch (error) {
      problems.push(`--rpc ${node.host}: no answer to eth_chainId (${messageOf(error)})`)
    }
  }
  if (problems.length > 0)
    throw new SetupError(`${problems.join('\n')}\ncheck the URL, or start the node`)
  return Promise.all(
    [...byId].map(async ([id, nodes]) => {
      const [node] = nodes
      if (node === undefined) throw new SetupError('--rpc is missing')
      const known = KNOWN_CHAINS.get(id)
      const all = nodes.map((each) => each.url)
      const headNumber = Number(await node.ask('eth_blockNumber'))
      const source = openRpcSource({ chainId: id, urls: all })
      const name = known?.name ?? `chain-${id}`
      return { name, id, known, node, source, headNumber, clock, urls: all }
    }),
  )
}

export function ask(
  { source }: Pick<ChainView, 'source'>,
  address: Address,
  view: string,
  args?: readonly unknown[],
): Promise<unknown> {
  const declaration: string = `function ${view}`
  const item = from(declaration)
  if (item.type !== 'function') throw new TypeError(`not a function: ${view}`)
  return callView(source, { field: address, address, view: item, args })
}

export async function describeChain(
  view: ChainView & { readonly urls: readonly string[] },
  startBlock: number,
): Promise<{ readonly entry: ChainEntry; readonly notes: Readonly<Record<string, string>> }> {
  const blockSeconds = await measureBlockSeconds(view)
  const finality = await chooseFinality(view)
  const proofs = await chooseProofs(view)
  const entry: ChainEntry = {
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
  const pace = `a block every ${blockSeconds.toFixed(1)} s lately`
  return {
    entry,
    notes: {
      pollIntervalMs: pace,
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
      note: `the node cannot prove whole blocks (${messageOf(error)})`,
    }
  }
}

export function messageOf(error: unknown): string {
  return oneLine(error instanceof Error ? error.message : String(error))
}

const LINE_MAX = 500

/** Words of a node must not steer a terminal or pass for a line of ours. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').slice(0, LINE_MAX)
}
