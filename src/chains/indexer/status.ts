import { createHash } from 'node:crypto'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import type { Finality } from '#domain/chain.ts'
import { allEnded } from '#lib/async.ts'
import type { Connection } from '#store/engine.ts'
import { column, type Row, sql } from '#store/sql.ts'
import { type Backfill, readBackfills } from './backfill/backfill-row.ts'
import { readForgotten } from './chain-notes.ts'
import type { FilePart, FileParts, PartChange } from './indexed-config/file-part.ts'
import { partsThatDiffer, readIndexedConfig } from './indexed-config/tables.ts'
import { readStalls, type Stall } from './stalled-chains.ts'
import { readUnknown, type UnknownFigure } from './unknown-figures.ts'

export interface ChainStatus {
  readonly chain: Chain
  readonly blockNumber: number
  readonly blockHash: string
  readonly blockTimeUnix: number
  readonly headNumber: number
  readonly safeNumber: number
  readonly finalizedNumber: number
  readonly backfill: Backfill | null
  readonly stall: Stall | null
  readonly timesForgotten: number
}

export interface IndexStatus {
  readonly chains: readonly ChainStatus[]
  readonly unread: readonly Chain[]
  /** Of the file of this process. */
  readonly parts: readonly FilePart[]
  readonly otherParts: readonly PartChange[]
  readonly unknown: readonly UnknownFigure[]
  /** Newest indexed block of any chain; windows roll back from it. */
  readonly asOfUnix: number
  /** Changes whenever an answer may. */
  readonly revision: string
}

export async function readIndexStatus(
  connection: Connection,
  chains: readonly Chain[],
  file?: FileParts,
): Promise<IndexStatus | undefined> {
  const [found, backfills, stalls, indexed, unknown] = await allEnded([
    connection.run(sql`
      select positions.chain_id, number, hash, timestamp_unix,
        head_number, safe_number, finalized_number, coalesce(removals, 0) as times_forgotten
      from positions left join chain_notes on chain_notes.chain_id = positions.chain_id`),
    readBackfills(connection),
    readStalls(connection),
    readIndexedConfig(connection),
    readUnknown(connection),
  ])
  const byId = new Map(found.map((row) => [column.integer(row, 'chain_id'), row]))
  const unread = chains.filter(({ id }) => !byId.has(id))
  if (unread.length === chains.length) return undefined
  if (unread.length > 0) {
    const forgotten = await readForgotten(connection)
    if (!unread.every(({ id }) => forgotten.has(id))) return undefined
  }
  const statuses = chains.flatMap((chain) => {
    const row = byId.get(chain.id)
    const backfill = backfills.get(chain.id) ?? null
    const stall = stalls.get(chain.id) ?? null
    return row === undefined ? [] : [toStatus(chain, row, { backfill, stall })]
  })
  return {
    chains: statuses,
    unread,
    parts: file?.parts ?? [],
    otherParts: file === undefined ? [] : await partsThatDiffer(connection, indexed, file),
    unknown,
    asOfUnix: Math.max(...statuses.map((each) => each.blockTimeUnix)),
    revision: [
      indexed?.sequence ?? 0,
      ...statuses.map(revisionOf),
      ...digestOfUnknown(unknown),
    ].join('-'),
  }
}

/** Comparisons with the contracts come between blocks. */
export function digestOfUnknown(unknown: readonly UnknownFigure[]): readonly string[] {
  if (unknown.length === 0) return []
  return [createHash('sha256').update(JSON.stringify(unknown)).digest('hex').slice(0, 8)]
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

/** `stale`: the newest block is too old. */
export function conditionOf(status: ChainStatus, nowUnix: number): 'live' | 'syncing' | 'stale' {
  const isBehind = status.headNumber - status.blockNumber > SYNCING_BLOCKS
  if (isBehind || isIncomplete(status)) return 'syncing'
  return nowUnix - status.blockTimeUnix > status.chain.staleAfterSeconds ? 'stale' : 'live'
}

export function isIncomplete({ backfill }: Pick<ChainStatus, 'backfill'>): boolean {
  return backfill !== null && backfill.datasets === null
}

/** A chain at the head is up to one commit behind. */
const SYNCING_BLOCKS = 64

export function finalityOf(status: ChainStatus, blockNumber: number): Finality {
  if (blockNumber <= status.finalizedNumber) return 'finalized'
  return blockNumber <= status.safeNumber ? 'safe' : 'latest'
}
