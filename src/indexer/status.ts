import type { Finality } from '#domain/chain.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { type Backfill, readBackfills } from './backfill/backfill-row.ts'
import { readStalls, type Stall } from './stalled-chains.ts'

/** How far the index is on one chain. Times in Unix seconds. */
export interface ChainStatus {
  readonly chain: Chain
  readonly blockNumber: number
  readonly blockHash: string
  readonly blockTimeUnix: number
  readonly headNumber: number
  readonly safeNumber: number
  readonly finalizedNumber: number
  /** Older history that is still being read; null when nothing is missing. */
  readonly backfill: Backfill | null
  /** Why the chain cannot be read on at present; null while it can. */
  readonly stall: Stall | null
  /** How often the chain was removed from the register to be read anew. */
  readonly timesForgotten: number
}

/** How far the index is; one state of the register. */
export interface IndexStatus {
  readonly chains: readonly ChainStatus[]
  /** Time of the newest indexed block of any chain; windows roll back from it. */
  readonly asOfUnix: number
  /** Changes whenever an answer may. */
  readonly revision: string
}

/** Reads the status of every chain; undefined until each has its first block. */
export async function readIndexStatus(
  connection: Connection,
  chains: readonly Chain[],
): Promise<IndexStatus | undefined> {
  const found = await connection.run(sql`
    select positions.chain_id, number, hash, timestamp_unix,
      head_number, safe_number, finalized_number, coalesce(times, 0) as times_forgotten
    from positions left join forgotten_chains on forgotten_chains.chain_id = positions.chain_id`)
  const byId = new Map(found.map((row) => [column.integer(row, 'chain_id'), row]))
  const backfills = await readBackfills(connection)
  const stalls = await readStalls(connection)
  const statuses: ChainStatus[] = []
  for (const chain of chains) {
    const row = byId.get(chain.id)
    if (row === undefined) return undefined
    const backfill = backfills.get(chain.id) ?? null
    statuses.push(toStatus(chain, row, { backfill, stall: stalls.get(chain.id) ?? null }))
  }
  return {
    chains: statuses,
    asOfUnix: Math.max(...statuses.map((each) => each.blockTimeUnix)),
    revision: statuses.map(revisionOf).join('-'),
  }
}

function toStatus(
  chain: Chain,
  row: Row,
  more: Pick<ChainStatus, 'backfill' | 'stall'>,
): ChainStatus {
  return {
    chain,
    blockNumber: column.integer(row, 'number'),
    blockHash: column.text(row, 'hash'),
    blockTimeUnix: column.integer(row, 'timestamp_unix'),
    headNumber: column.integer(row, 'head_number'),
    safeNumber: column.integer(row, 'safe_number'),
    finalizedNumber: column.integer(row, 'finalized_number'),
    ...more,
    timesForgotten: column.integer(row, 'times_forgotten'),
  }
}

function revisionOf(status: ChainStatus): string {
  const { chain, timesForgotten, blockNumber, blockHash, safeNumber, finalizedNumber } = status
  const stalled = status.stall === null ? [] : [status.stall.reason]
  const { read, folded } = status.backfill ?? {}
  const hash = blockHash.slice(2, 12)
  const older = [read?.number, folded?.number]
  const head = [blockNumber, hash, safeNumber, finalizedNumber]
  return [chain.id, timesForgotten, ...head, ...older, ...stalled].join('.')
}

/** `syncing` while history is still being read, `stale` when the newest block is too old. */
export function conditionOf(status: ChainStatus, nowUnix: number): 'live' | 'syncing' | 'stale' {
  const isBehind = status.headNumber - status.blockNumber > SYNCING_BLOCKS
  if (isBehind || status.backfill !== null) return 'syncing'
  return nowUnix - status.blockTimeUnix > status.chain.staleAfterSeconds ? 'stale' : 'live'
}

/** Fewer blocks than one commit holds are the ordinary distance of a chain that is followed. */
const SYNCING_BLOCKS = 64

/** How far a block of a chain is from being taken back. */
export function finalityOf(status: ChainStatus, blockNumber: number): Finality {
  if (blockNumber <= status.finalizedNumber) return 'finalized'
  return blockNumber <= status.safeNumber ? 'safe' : 'latest'
}
