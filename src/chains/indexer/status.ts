import { createHash } from 'node:crypto'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import type { Finality } from '#domain/chain.ts'
import { allEnded } from '#lib/async.ts'
import type { Connection } from '#store/engine.ts'
import { column, type Row, sql } from '#store/sql.ts'
import { readUnknown, type UnknownFigure } from './unknown-figures.ts'

export const STALL_REASONS = [
  'deep_reorg',
  'unlinked_blocks',
  'unreadable_node',
  'unusable_data',
] as const
export type StallReason = (typeof STALL_REASONS)[number]

export interface ChainStatus {
  readonly chain: Chain
  readonly blockNumber: number
  readonly blockHash: string
  readonly blockTimeUnix: number
  readonly headNumber: number
  readonly safeNumber: number
  readonly finalizedNumber: number
  readonly stalled: StallReason | null
  readonly timesForgotten: number
}

export interface IndexStatus {
  readonly chains: readonly ChainStatus[]
  readonly unknown: readonly UnknownFigure[]
  /** Newest indexed block of any chain; windows roll back from it. */
  readonly asOfUnix: number
  /** Changes whenever an answer may. */
  readonly revision: string
}

/** Undefined before each chain has its first blocks. */
export async function readIndexStatus(
  connection: Connection,
  chains: readonly Chain[],
): Promise<IndexStatus | undefined> {
  const [found, unknown] = await allEnded([
    connection.run(sql`
      select positions.chain_id, number, hash, timestamp_unix,
        head_number, safe_number, finalized_number, coalesce(removals, 0) as times_forgotten, stall
      from positions left join chain_notes on chain_notes.chain_id = positions.chain_id`),
    readUnknown(connection),
  ])
  const byId = new Map(found.map((row) => [column.integer(row, 'chain_id'), row]))
  const statuses = chains.flatMap((chain) => {
    const row = byId.get(chain.id)
    return row === undefined ? [] : [toStatus(chain, row)]
  })
  if (statuses.length < chains.length) return undefined
  return {
    chains: statuses,
    unknown,
    asOfUnix: Math.max(...statuses.map((each) => each.blockTimeUnix)),
    revision: [...statuses.map(revisionOf), ...digestOfUnknown(unknown)].join('-'),
  }
}

/** Comparisons with the contracts come between blocks. */
export function digestOfUnknown(unknown: readonly UnknownFigure[]): readonly string[] {
  if (unknown.length === 0) return []
  return [createHash('sha256').update(JSON.stringify(unknown)).digest('hex').slice(0, 8)]
}

function toStatus(chain: Chain, row: Row): ChainStatus {
  return {
    chain,
    blockNumber: column.integer(row, 'number'),
    blockHash: column.text(row, 'hash'),
    blockTimeUnix: column.integer(row, 'timestamp_unix'),
    headNumber: column.integer(row, 'head_number'),
    safeNumber: column.integer(row, 'safe_number'),
    finalizedNumber: column.integer(row, 'finalized_number'),
    stalled: toStallReason(row.stall),
    timesForgotten: column.integer(row, 'times_forgotten'),
  }
}

export function toStallReason(stored: unknown): StallReason | null {
  if (stored == null) return null
  return STALL_REASONS.find((each) => each === stored) ?? 'unusable_data'
}

function revisionOf(status: ChainStatus): string {
  const { chain, timesForgotten, blockNumber, blockHash, safeNumber, finalizedNumber } = status
  const head = [blockNumber, blockHash.slice(2, 12), safeNumber, finalizedNumber]
  const stalled = status.stalled === null ? [] : [status.stalled]
  return [chain.id, timesForgotten, ...head, ...stalled].join('.')
}

/** `stale`: the newest block is too old. */
export function conditionOf(status: ChainStatus, nowUnix: number): 'live' | 'syncing' | 'stale' {
  if (status.headNumber - status.blockNumber > SYNCING_BLOCKS) return 'syncing'
  return nowUnix - status.blockTimeUnix > status.chain.staleAfterSeconds ? 'stale' : 'live'
}

/** A chain at the head is up to one commit behind. */
export const SYNCING_BLOCKS = 64

export function finalityOf(status: ChainStatus, blockNumber: number): Finality {
  if (blockNumber <= status.finalizedNumber) return 'finalized'
  return blockNumber <= status.safeNumber ? 'safe' : 'latest'
}
