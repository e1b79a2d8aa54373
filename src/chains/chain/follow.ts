import type { BlockHeader, BlockRef, Log } from '#domain/chain.ts'
import { allEnded } from '#lib/async.ts'
import { chunks } from '#lib/chunks.ts'
import type { ChainEvent, ChainTip, Position } from './chain-event.ts'
import type { ChainSource } from './chain-source.ts'
import type { LogFilter } from './log-filter.ts'
import { RpcError } from './rpc-error.ts'
import { fetchBlockLogs, proveBlockLogs } from './verify-logs.ts'

export interface FollowDeps {
  readonly source: ChainSource
  readonly filters: readonly LogFilter[]
  readonly startBlock: number
  readonly finality: 'tag' | number
  /** `every`: logs of new blocks come from receipts that hash to their block. */
  readonly proofs: 'every' | 'deposits'
  stored(number: number): Promise<BlockRef | undefined>
}

const BLOCKS_MAX = 64

/**
 * Closer to the finalized head, two nodes may disagree about a range: read single blocks with
 * proven links.
 */
const HISTORY_MARGIN = 64

export async function follow(
  deps: FollowDeps,
  position: Position | undefined,
): Promise<ChainEvent> {
  const [{ final, ...tip }, same] = await Promise.all([
    readTip(deps),
    position === undefined ? undefined : deps.source.header(position.number),
  ])
  if (position !== undefined) {
    if (position.number > tip.head.number) return await behind(deps, tip)
    if (same === undefined) throw new RpcError(`the node does not know block ${position.number}`)
    if (same.hash !== position.hash)
      return { kind: 'reorg', tip: notFinal(tip), ancestor: await ancestor(deps, position.number) }
  }
  const next = position === undefined ? deps.startBlock : position.number + 1
  if (next > tip.head.number) {
    if (position === undefined) return { kind: 'idle', tip }
    if (position.hash !== tip.head.hash)
      throw new UnlinkedBlocksError(
        `block ${position.number} is ${tip.head.hash} at the head, but ${position.hash} in the index; the nodes disagree`,
      )
    return { kind: 'idle', tip: await provenTip(deps, { tip, final, headers: [] }) }
  }
  const to = tip.finalized - HISTORY_MARGIN
  if (next <= to) return { kind: 'history', tip, from: next, to }
  const range = { from: next, head: tip.head, blocksMax: BLOCKS_MAX }
  const blocks = await readBlocks(deps, position, range)
  const headers = blocks.map(({ header }) => header)
  // Finality is known for the head's branch only.
  if (headers.at(-1)?.hash !== tip.head.hash) return { kind: 'blocks', tip: notFinal(tip), blocks }
  return { kind: 'blocks', tip: await provenTip(deps, { tip, final, headers }), blocks }
}

function notFinal(tip: ChainTip): ChainTip {
  return { ...tip, safe: 0, finalized: 0 }
}

/** Two nodes may disagree: the finalized block must be on the head's branch. */
async function provenTip(
  deps: FollowDeps,
  input: {
    readonly tip: ChainTip
    readonly final: BlockRef | undefined
    readonly headers: readonly BlockHeader[]
  },
): Promise<ChainTip> {
  const { tip, final, headers } = input
  if (final === undefined) return tip
  // A lagging node gave the head, whose branch is not known yet.
  if (final.number > tip.head.number) return notFinal(tip)
  const read = headers.find(({ number }) => number === final.number)
  const ours = read ?? (await deps.stored(final.number))
  if (ours !== undefined && ours.hash !== final.hash)
    throw new UnlinkedBlocksError(
      `the final block ${final.number} is not on the branch of the head`,
    )
  return tip
}

export async function ancestor(deps: FollowDeps, below: number): Promise<BlockHeader> {
  for (let number = below - 1; ; number -= 1) {
    const stored = await deps.stored(number)
    const isBeforeAll = number >= 0 && number < deps.startBlock
    if (stored === undefined && !isBeforeAll) throw new DeepReorgError(number)
    const header = await deps.source.header(number)
    if (header === undefined) throw new RpcError(`the node does not know block ${number}`)
    // Nothing is stored below it.
    if (header.hash === stored?.hash || isBeforeAll) return header
  }
}

/** Needs an operator; nothing is deleted. */
export class DeepReorgError extends Error {
  override readonly name = 'DeepReorgError'
  constructor(number: number) {
    super(
      `the chain differs from the index below block ${number + 1}, which is older than finality allows; check the endpoint`,
    )
  }
}

async function behind(deps: FollowDeps, tip: ChainTip): Promise<ChainEvent> {
  const stored = await deps.stored(tip.head.number)
  return { kind: 'behind', tip, forked: stored !== undefined && stored.hash !== tip.head.hash }
}

async function readTip(
  deps: FollowDeps,
): Promise<ChainTip & { readonly final: BlockRef | undefined }> {
  const { source, finality } = deps
  const [chainId, head, safe, finalized] = await Promise.all([
    source.askChainId(),
    source.header('latest'),
    finality === 'tag' ? source.header('safe') : undefined,
    finality === 'tag' ? source.header('finalized') : undefined,
  ])
  if (chainId !== source.chainId)
    throw new RpcError(`the node now serves chain ${chainId}, not ${source.chainId}`)
  if (head === undefined) throw new RpcError('the node knows no latest block')
  const depth = typeof finality === 'number' ? finality : 0
  const finalNumber = finality === 'tag' ? (finalized?.number ?? 0) : head.number - depth
  return {
    head,
    final: finalized,
    finalized: clamp(finalNumber, head.number),
    safe: clamp(finality === 'tag' ? (safe?.number ?? finalNumber) : finalNumber, head.number),
  }
}

function clamp(number: number, head: number): number {
  return Math.max(0, Math.min(number, head))
}

async function readBlocks(
  deps: Pick<FollowDeps, 'source' | 'filters' | 'proofs'>,
  position: Pick<Position, 'hash'> | undefined,
  range: { readonly from: number; readonly head: BlockHeader; readonly blocksMax: number },
) {
  const { from, head } = range
  const to = Math.min(head.number, from + range.blocksMax - 1)
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index)
  const headers = await Promise.all(
    numbers.map((number) => (number === head.number ? head : deps.source.header(number))),
  )
  const linked = checkLinks(headers, position)
  const logs = await readLogs(deps, linked)
  return linked.map((header, index) => ({ header, logs: logs[index] ?? [] }))
}

async function readLogs(
  { source, filters, proofs }: Pick<FollowDeps, 'source' | 'filters' | 'proofs'>,
  headers: readonly BlockHeader[],
): Promise<readonly (readonly Log[])[]> {
  if (proofs === 'deposits')
    return Promise.all(headers.map((header) => fetchBlockLogs(source, filters, header)))
  const logs: (readonly Log[])[] = []
  for (const part of chunks(headers, PROVEN_AT_ONCE))
    logs.push(...(await allEnded(part.map((header) => proveBlockLogs(source, filters, header)))))
  return logs
}

/** Receipts of a block take up to a megabyte. */
const PROVEN_AT_ONCE = 4

/** The chain moved between calls, or nodes disagree. */
export class UnlinkedBlocksError extends RpcError {}

function unlinkedError({ number }: BlockHeader, parent: string): UnlinkedBlocksError {
  return new UnlinkedBlocksError(`block ${number} does not follow ${parent}; the chain moved`)
}

function checkLinks(
  headers: readonly (BlockHeader | undefined)[],
  position: Pick<Position, 'hash'> | undefined,
): BlockHeader[] {
  const linked: BlockHeader[] = []
  for (const header of headers) {
    if (header === undefined) throw new RpcError('the node does not know a block below its head')
    const parent = linked.at(-1)?.hash ?? position?.hash
    if (parent !== undefined && header.parentHash !== parent) throw unlinkedError(header, parent)
    linked.push(header)
  }
  return linked
}
