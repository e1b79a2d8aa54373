import type { BlockHeader, BlockRef } from '#domain/chain.ts'
import type { ChainEvent, ChainTip, Position } from './chain-event.ts'
import { type ChainSource, RpcError } from './chain-source.ts'
import type { LogFilter } from './log-filter.ts'
import type { HistoryReader } from './read-history.ts'
import { fetchBlockLogs } from './verify-logs.ts'

export interface FollowDeps {
  readonly source: ChainSource
  readonly filters: readonly LogFilter[]
  readonly history: HistoryReader
  /** The first block that can hold an event. */
  readonly startBlock: number
  readonly finality: 'tag' | number
  /** The stored block at a height, while it is not yet final. */
  stored(number: number): Promise<BlockRef | undefined>
}

/** New blocks per event: few enough that one commit is short, enough that catching up is quick. */
const BLOCKS_MAX = 64

/** Asks the chain once and tells the next thing that happened since `position`. */
export async function follow(
  deps: FollowDeps,
  position: Position | undefined,
): Promise<ChainEvent> {
  const [tip, same] = await Promise.all([
    readTip(deps),
    position === undefined ? undefined : deps.source.header(position.number),
  ])
  if (position !== undefined) {
    if (position.number > tip.head.number) return await behind(deps, tip)
    if (same === undefined) throw new RpcError(`the node does not know block ${position.number}`)
    if (same.hash !== position.hash)
      return { kind: 'reorg', tip, ancestor: await ancestor(deps, position.number) }
  }
  const next = position === undefined ? deps.startBlock : position.number + 1
  if (next > tip.head.number) return { kind: 'idle', tip }
  if (next <= tip.finalized)
    return { kind: 'history', tip, ...(await deps.history.read(next, tip.finalized)) }
  return { kind: 'blocks', tip, blocks: await readBlocks(deps, position, next, tip.head) }
}

/** The newest stored block that the chain still has. */
export async function ancestor(deps: FollowDeps, below: number): Promise<BlockHeader> {
  for (let number = below - 1; ; number -= 1) {
    const stored = await deps.stored(number)
    const isBeforeAll = number >= 0 && number < deps.startBlock
    if (stored === undefined && !isBeforeAll) throw new DeepReorgError(number)
    const header = await deps.source.header(number)
    if (header === undefined) throw new RpcError(`the node does not know block ${number}`)
    // Nothing of ours stands on a block before the first one, whichever branch it is on.
    if (header.hash === stored?.hash || isBeforeAll) return header
  }
}

/** The chain contradicts a block that counted as final. Nothing is deleted; an operator must look. */
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

async function readTip(deps: FollowDeps): Promise<ChainTip> {
  const { source, finality } = deps
  const [head, safe, finalized] = await Promise.all([
    source.header('latest'),
    finality === 'tag' ? source.header('safe') : undefined,
    finality === 'tag' ? source.header('finalized') : undefined,
  ])
  if (head === undefined) throw new RpcError('the node knows no latest block')
  const depth = typeof finality === 'number' ? finality : 0
  const final = finality === 'tag' ? (finalized?.number ?? 0) : head.number - depth
  return {
    head,
    finalized: clamp(final, head.number),
    safe: clamp(finality === 'tag' ? (safe?.number ?? final) : final, head.number),
  }
}

function clamp(number: number, head: number): number {
  return Math.max(0, Math.min(number, head))
}

async function readBlocks(
  deps: FollowDeps,
  position: Position | undefined,
  from: number,
  head: BlockHeader,
) {
  const to = Math.min(head.number, from + BLOCKS_MAX - 1)
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index)
  const headers = await Promise.all(
    numbers.map((number) => (number === head.number ? head : deps.source.header(number))),
  )
  const linked = checkLinks(headers, position)
  const logs = await Promise.all(
    linked.map((header) => fetchBlockLogs(deps.source, deps.filters, header)),
  )
  return linked.map((header, index) => ({ header, logs: logs[index] ?? [] }))
}

/** Parents must link; a break is a chain that moved while we asked, so the next poll asks anew. */
function checkLinks(
  headers: readonly (BlockHeader | undefined)[],
  position: Position | undefined,
): BlockHeader[] {
  const linked: BlockHeader[] = []
  for (const header of headers) {
    if (header === undefined) throw new RpcError('the node does not know a block below its head')
    const parent = linked.at(-1)?.hash ?? position?.hash
    if (parent !== undefined && header.parentHash !== parent)
      throw new RpcError(`block ${header.number} does not follow ${parent}; the chain moved`)
    linked.push(header)
  }
  return linked
}
