import type { BlockClock, TimedBlock } from '#chains/chain/block-clock.ts'
import type { Position } from '#chains/chain/chain-event.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import type { Chain, Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { oldestBlock, storedUpTo } from '#chains/indexer/positions.ts'
import { type IndexStatus, readIndexStatus } from '#chains/indexer/status.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { type Clock, toIso, unixNow } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import type { NamedBlock } from '../parameters.ts'

export type AsOf =
  | { readonly kind: 'blocks'; readonly named: readonly NamedBlock[] }
  | { readonly kind: 'moment'; readonly unix: number }

export interface FindDeps {
  readonly register: Engine
  readonly ecosystem: Ecosystem
  readonly clock: Clock
  /** Asks a chain's nodes for blocks that the register does not keep. */
  blockClock(chain: Chain): Promise<BlockClock>
  /** Bounds requests to nodes, by caller. */
  readonly nodeBudget: NodeBudget
}

export interface NodeBudget {
  refusal(bucket: string): Refusal | undefined
  /** Counts one request. */
  spend(bucket: string): void
}

interface Asked extends FindDeps {
  /** Who pays for requests to nodes from his budget. */
  readonly bucket: string
}

class BudgetSpentError extends Error {
  override readonly name = 'BudgetSpentError'
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

export interface FoundBlock {
  readonly chain: Chain
  readonly isNamed: boolean
  /** Null if the chain had none yet. */
  readonly block: Position | null
}

export interface Found {
  readonly asOfUnix: number
  readonly status: IndexStatus
  readonly blocks: readonly FoundBlock[]
}

/** What needs no node, before anything is asked; usually the `recent` status is enough. */
export async function checkAsOf(
  deps: FindDeps,
  asOf: AsOf,
  recent: () => Promise<IndexStatus | undefined>,
): Promise<Refusal | undefined> {
  if (asOf.kind === 'moment')
    return asOf.unix > unixNow(deps.clock) ? wrong('asOfUnix', 'lies in the future') : undefined
  const known = await recent()
  if (known === undefined || refuseTooNew(known, asOf.named) === undefined) return undefined
  // The caller may have seen a newer block.
  const status = await deps.register.snapshot((reads) =>
    readIndexStatus(reads, deps.ecosystem.chains),
  )
  return status && refuseTooNew(status, asOf.named)
}

/**
 * The blocks where the chains stand. The register has those that are not final; older ones are asked
 * of the nodes, whose answers about final blocks agree.
 */
export async function findBlocks(deps: Asked, asOf: AsOf): Promise<Found | Refusal> {
  const status = await deps.register.snapshot((reads) =>
    readIndexStatus(reads, deps.ecosystem.chains),
  )
  if (status === undefined || status.unread.length > 0)
    return notReady('Not every chain has been indexed yet.')
  try {
    return await find(deps, status, asOf)
  } catch (error) {
    if (error instanceof BudgetSpentError) return error.refusal
    if (!(error instanceof RpcError)) throw error
    return notReady('The nodes do not answer for a block that the index no longer has.')
  }
}

function refuseTooNew(status: IndexStatus, named: readonly NamedBlock[]): Refusal | undefined {
  if (status.unread.length > 0) return undefined
  const heights = new Map(status.chains.map((each) => [each.chain.id, each.blockNumber]))
  const wrongs = named.filter(({ chain, number }) => number > (heights.get(chain.id) ?? -1))
  if (wrongs.length === 0) return undefined
  const known = status.chains.map((each) => `${each.chain.name}:${each.blockNumber}`)
  const names = wrongs.map(({ chain, number }) => `${chain.name}:${number}`).join(', ')
  return wrong('asOfBlock', `names ${names}, but the index is at ${known.join(', ')}`)
}

async function find(deps: Asked, status: IndexStatus, asOf: AsOf): Promise<Found> {
  const named = new Map<Chain, Position>()
  if (asOf.kind === 'blocks')
    for (const each of asOf.named) named.set(each.chain, await blockAt(deps, each))
  const times = [...named.values()].map(({ timestamp }) => timestamp)
  const asOfUnix = asOf.kind === 'moment' ? asOf.unix : Math.max(...times)
  const blocks: FoundBlock[] = []
  for (const { chain } of status.chains) {
    const block = named.get(chain) ?? (await lastBlock(deps, chain, asOfUnix))
    blocks.push({ chain, isNamed: named.has(chain), block })
  }
  return { asOfUnix, status, blocks }
}

async function blockAt(deps: Asked, { chain, number }: NamedBlock): Promise<Position> {
  const stored = await deps.register.snapshot((reads) => storedUpTo(reads, chain.id, { number }))
  if (stored?.number === number) return stored
  return (await clockOf(deps, chain)).at(number, () => deps.nodeBudget.spend(deps.bucket))
}

async function lastBlock(deps: Asked, chain: Chain, unix: number): Promise<Position | null> {
  const [stored, oldest] = await deps.register.snapshot(async (reads) => [
    await storedUpTo(reads, chain.id, { unix }),
    await oldestBlock(reads, chain.id),
  ])
  if (stored !== undefined || oldest === undefined) return stored ?? null
  const clock = await clockOf(deps, chain)
  const onAsk = () => deps.nodeBudget.spend(deps.bucket)
  return lastBefore(clock, { chain, unix, later: oldest, onAsk })
}

/** The caller's budget is checked before a question, which may overdraw it but is never answered in part. */
function clockOf(deps: Asked, chain: Chain): Promise<BlockClock> {
  const refusal = deps.nodeBudget.refusal(deps.bucket)
  if (refusal !== undefined) throw new BudgetSpentError(refusal)
  return deps.blockClock(chain)
}

/** Tries `startBlock` first: the moment is usually after it. */
async function lastBefore(
  clock: BlockClock,
  input: {
    readonly chain: Chain
    readonly unix: number
    readonly later: TimedBlock
    readonly onAsk: () => void
  },
): Promise<Position | null> {
  const { chain, unix, later, onAsk } = input
  for (const from of [chain.startBlock, 0]) {
    if (from >= later.number) continue
    const first = await clock.at(from, onAsk)
    if (first.timestamp > unix) continue
    const next = await clock.firstAtOrAfter(unix + 1, first, later, onAsk)
    return clock.at(next.number - 1, onAsk)
  }
  return null
}

export function notReady(detail: string): Refusal {
  return refuse('data_not_ready', `${detail} Try again soon.`, { retryAfterSeconds: 2 })
}

export function wrong(name: 'asOfBlock' | 'asOfUnix', reason: string): Refusal {
  return refuse('invalid_parameter', `${name} ${reason}`, {
    errors: [{ in: 'query', name, reason }],
  })
}

export function beforeAll(asOfUnix: number): Refusal {
  return wrong('asOfUnix', `is ${toIso(asOfUnix)}, before the first block of every chain`)
}
