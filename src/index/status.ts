import { createHash } from 'node:crypto'
import type { Address } from '#base/address.ts'
import { allEnded } from '#base/async.ts'
import type { BlockHeader, BlockRef, Finality } from '#base/chain.ts'
import type { ChainTip, Position } from '#chain/chain-source.ts'
import { DeepReorgError, UnlinkedBlocksError } from '#chain/follow.ts'
import { RpcError } from '#chain/rpc-error.ts'
import {
  type Connection,
  ConstraintError,
  type Engine,
  StoreError,
  type Tables,
} from '#db/engine.ts'
import { column, type Row, rows, sql, toStoredText } from '#db/sql.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'
import type { Fence } from '#index/leader.ts'

export const STALL_REASONS = [
  'deep_reorg',
  'unlinked_blocks',
  'unreadable_node',
  'unusable_data',
] as const
type StallReason = (typeof STALL_REASONS)[number]

export interface ChainStatus {
  readonly chain: Chain
  readonly blockNumber: number
  readonly blockHash: string
  readonly blockTimeUnix: number
  readonly headNumber: number
  readonly safeNumber: number
  readonly finalizedNumber: number
  readonly stalled: StallReason | null
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
        head_number, safe_number, finalized_number, stall
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
    revision: [...statuses.map(nameRevision), hashUnknown(unknown)].join('-'),
  }
}

function hashUnknown(unknown: readonly UnknownFigure[]): string {
  return createHash('sha256').update(JSON.stringify(unknown)).digest('hex').slice(0, 8)
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
  }
}

function toStallReason(stored: unknown): StallReason | null {
  if (stored == null) return null
  return STALL_REASONS.find((each) => each === stored) ?? 'unusable_data'
}

function nameRevision(status: ChainStatus): string {
  const { chain, blockNumber, blockHash, safeNumber, finalizedNumber } = status
  const head = [blockNumber, blockHash.slice(2, 12), safeNumber, finalizedNumber]
  const stalled = status.stalled === null ? [] : [status.stalled]
  return [chain.id, ...head, ...stalled].join('.')
}

/** `stale`: the newest block is too old. */
export function judgeCondition(status: ChainStatus, nowUnix: number): 'live' | 'syncing' | 'stale' {
  if (status.headNumber - status.blockNumber > SYNCING_BLOCKS) return 'syncing'
  return nowUnix - status.blockTimeUnix > status.chain.staleAfterSeconds ? 'stale' : 'live'
}

/** A chain at the head is up to one commit behind. */
const SYNCING_BLOCKS = 64

export function judgeFinality(status: ChainStatus, blockNumber: number): Finality {
  if (blockNumber <= status.finalizedNumber) return 'finalized'
  return blockNumber <= status.safeNumber ? 'safe' : 'latest'
}

/** What a dataset cannot vouch for, by contract. */
export const unknownFiguresTables: Tables = `
    create table unknown_figures (
      chain_id bigint not null,
      dataset text not null,
      contract text not null,
      reason text not null,
      detail text not null,
      primary key (chain_id, dataset, contract, reason)
    )`

/** `unreadable`: some logs could not be decoded; `differs`: a stored balance is below zero, which no contract has. */
export const UNKNOWN_REASONS = ['unreadable', 'differs'] as const

export interface UnknownFigure {
  readonly chainId: number
  readonly dataset: string
  readonly contract: Address
  readonly reason: (typeof UNKNOWN_REASONS)[number]
  readonly detail: string
}

export async function readUnknown(connection: Connection): Promise<readonly UnknownFigure[]> {
  const found = await connection.run(sql`
    select chain_id, dataset, contract, reason, detail from unknown_figures
    order by chain_id, dataset, contract, reason`)
  return found.map((row) => ({
    chainId: column.integer(row, 'chain_id'),
    dataset: column.text(row, 'dataset'),
    contract: column.hex(row, 'contract'),
    reason: row.reason === 'differs' ? 'differs' : 'unreadable',
    detail: column.text(row, 'detail'),
  }))
}

export async function noteUnknown(
  connection: Connection,
  figures: readonly UnknownFigure[],
): Promise<void> {
  const distinct = new Map(
    figures.map(({ chainId, dataset, contract, reason, detail }) => {
      const key = [chainId, dataset, contract, reason]
      return [key.join(' '), [...key, toStoredText(detail)]]
    }),
  )
  const list = [...distinct.values()]
  if (list.length === 0) return
  await connection.run(sql`
    insert into unknown_figures (chain_id, dataset, contract, reason, detail)
    values ${rows(list)} on conflict (chain_id, dataset, contract, reason) do nothing`)
}

/** Replaces what was noted of tokens with a stored balance below zero, which no contract has. */
export async function noteOverdrawn(
  connection: Connection,
  place: { readonly chainId: number; readonly dataset: string },
  figures: readonly Pick<UnknownFigure, 'contract' | 'detail'>[],
): Promise<void> {
  const { chainId, dataset } = place
  await connection.run(sql`
    delete from unknown_figures
    where chain_id = ${chainId} and dataset = ${dataset} and reason = 'differs'`)
  await noteUnknown(
    connection,
    figures.map((each) => ({ ...place, ...each, reason: 'differs' })),
  )
}

/** Runs after a reorg, once the anomalies that left the chain are removed. */
export async function deleteResolved(connection: Connection, chainId: number): Promise<void> {
  await connection.run(sql`
    delete from unknown_figures
    where chain_id = ${chainId} and reason = 'unreadable' and not exists (
      select 1 from anomalies
      where anomalies.chain_id = unknown_figures.chain_id
        and anomalies.dataset = unknown_figures.dataset
        and anomalies.contract = unknown_figures.contract and anomalies.kind = 'unreadable')`)
}

/** Why a chain stalls, which it may before it has a position. */
export const chainNotesTables: Tables = `
    create table chain_notes (
      chain_id bigint primary key,
      stall text,
      stall_detail text
    )`

interface Stall {
  readonly reason: StallReason
  /** Names hosts; for the operator. */
  readonly detail: string
}

/** Chains that stall; one may before its first block. */
export type Stalls = ReadonlyMap<number, Stall>

export async function readStalls(reads: Connection): Promise<Stalls> {
  const found = await reads.run(sql`
    select chain_id, stall, stall_detail from chain_notes where stall is not null`)
  return new Map(
    found.map((row) => [
      column.integer(row, 'chain_id'),
      {
        reason: toStallReason(row.stall) ?? 'unusable_data',
        detail: column.text(row, 'stall_detail'),
      },
    ]),
  )
}

/** Whether the store refused what was read, or reading it failed. */
export function isUnusable(stall: Stall | undefined): boolean {
  return stall?.reason === 'unusable_data'
}

/** One may be a head that moved between calls. */
const FAILURES_UNTIL_REPORTED = 2

export class StallNote {
  readonly #deps: { readonly engine: Engine; readonly leader: Fence }
  readonly #chainId: number
  #failuresInRow = 0
  /** Undefined until this process has written. */
  #noted: string | null | undefined

  constructor(deps: { readonly engine: Engine; readonly leader: Fence }, chainId: number) {
    this.#deps = deps
    this.#chainId = chainId
  }

  async worked(): Promise<void> {
    this.#failuresInRow = 0
    await this.#note(null)
  }

  async failed(error: unknown): Promise<void> {
    const stall = toStall(error)
    if (stall === undefined) return
    this.#failuresInRow += 1
    if (stall.reason === 'deep_reorg' || this.#failuresInRow >= FAILURES_UNTIL_REPORTED)
      await this.#note(stall)
  }

  /** Details vary between attempts. */
  async #note(stall: Stall | null): Promise<void> {
    const { engine, leader } = this.#deps
    const [reason, detail] = [stall?.reason ?? null, stall?.detail ?? null]
    if (this.#noted === reason) return
    try {
      await engine.write(async (connection) => {
        await leader.hold(connection)
        await connection.run(sql`
          insert into chain_notes (chain_id, stall, stall_detail)
          values (${this.#chainId}, ${reason}, ${detail})
          on conflict (chain_id) do update set
            stall = excluded.stall, stall_detail = excluded.stall_detail`)
      })
      this.#noted = reason
    } catch (error) {
      if (!(error instanceof StoreError) || error.name === 'LeadLostError') throw error
    }
  }
}

/** Undefined if neither chain nor nodes are at fault. */
function toStall(error: unknown): Stall | undefined {
  const detail = error instanceof Error ? error.message : String(error)
  // The store refuses the same data again.
  if (error instanceof ConstraintError) return { reason: 'unusable_data', detail }
  if (error instanceof StoreError) return undefined
  if (error instanceof DeepReorgError) return { reason: 'deep_reorg', detail }
  if (error instanceof UnlinkedBlocksError) return { reason: 'unlinked_blocks', detail }
  return { reason: error instanceof RpcError ? 'unreadable_node' : 'unusable_data', detail }
}

export async function readPosition(
  connection: Connection,
  chainId: number,
): Promise<Position | undefined> {
  return (await readProgress(connection, chainId))?.position
}

/** The position, and how far the chain was when it was reached. */
export async function readProgress(connection: Connection, chainId: number) {
  const [row] = await connection.run(sql`
    select number, hash, timestamp_unix, head_number, finalized_number from positions
    where chain_id = ${chainId}`)
  return (
    row && {
      position: toPosition(row),
      headNumber: column.integer(row, 'head_number'),
      finalizedNumber: column.integer(row, 'finalized_number'),
    }
  )
}

function toPosition(row: Row): Position {
  return {
    number: column.integer(row, 'number'),
    hash: column.hex(row, 'hash'),
    timestamp: column.integer(row, 'timestamp_unix'),
  }
}

export async function movePosition(
  connection: Connection,
  input: {
    readonly chainId: number
    readonly to: Position
    readonly tip: ChainTip
    /** Never decreases, even if a node lags. */
    readonly finalizedNumber: number
  },
): Promise<void> {
  const { to, tip, finalizedNumber } = input
  // A node may lag behind the index.
  const safe = Math.max(finalizedNumber, Math.min(tip.safe, to.number))
  await connection.run(sql`
    insert into positions
      (chain_id, number, hash, timestamp_unix, head_number, safe_number, finalized_number)
    values (${input.chainId}, ${to.number}, ${to.hash}, ${to.timestamp},
      ${tip.head.number}, ${safe}, ${finalizedNumber})
    on conflict (chain_id) do update set
      number = excluded.number, hash = excluded.hash, timestamp_unix = excluded.timestamp_unix,
      head_number = excluded.head_number, safe_number = excluded.safe_number,
      finalized_number = excluded.finalized_number`)
}

/** Reorgs are traced by them to the common ancestor. */
export async function storeBlocks(
  connection: Connection,
  chainId: number,
  headers: readonly BlockHeader[],
): Promise<void> {
  const list = headers.map((header) => [
    chainId,
    header.number,
    header.hash,
    header.parentHash,
    header.timestamp,
  ])
  await connection.run(sql`
    insert into blocks (chain_id, number, hash, parent_hash, timestamp_unix) values ${rows(list)}
    on conflict (chain_id, number) do update set
      hash = excluded.hash, parent_hash = excluded.parent_hash,
      timestamp_unix = excluded.timestamp_unix`)
}

export async function storedBlock(
  connection: Connection,
  input: { readonly chainId: number; readonly number: number },
): Promise<BlockRef | undefined> {
  const [row] = await connection.run(sql`
    select number, hash from blocks
    where chain_id = ${input.chainId} and number = ${input.number}`)
  return row && { number: column.integer(row, 'number'), hash: column.hex(row, 'hash') }
}

/** Returns by chain the time of its newest final block that is read. */
export async function readFinalTimes(connection: Connection): Promise<ReadonlyMap<number, number>> {
  const found = await connection.run(sql`
    select positions.chain_id, blocks.timestamp_unix from positions
    left join blocks on blocks.chain_id = positions.chain_id
      and blocks.number = positions.finalized_number`)
  return new Map(
    found.map((row) => [
      column.integer(row, 'chain_id'),
      column.integerOrNull(row, 'timestamp_unix') ?? -1,
    ]),
  )
}

/** Keeps these and those between: the first one as the last possible ancestor. */
export async function keepBlocks(
  connection: Connection,
  chainId: number,
  { from = 0, to = Number.MAX_SAFE_INTEGER }: { readonly from?: number; readonly to?: number },
): Promise<void> {
  await connection.run(sql`
    delete from blocks where chain_id = ${chainId} and (number < ${from} or number > ${to})`)
}
