import type { Position } from '#chains/chain/chain-event.ts'
import { readTotalSupply } from '#chains/datasets/holders/queries.ts'
import type { Change } from '#chains/indexer/dataset.ts'
import { foldEvents } from '#chains/indexer/events/fold-events.ts'
import { type Contribution, NOTHING, TOTAL } from '#chains/indexer/events/sums.ts'
import { chunks } from '#lib/chunks.ts'
import type { Connection, Tables } from '#store/engine.ts'
import { column, ROWS_PER_STATEMENT, type Row, rows, sql, toStored } from '#store/sql.ts'

/** What was minted but is not new, per block; summed in `event_buckets`. */
export const unmintedTables: Tables = `
    create table unminted (
      chain_id bigint not null,
      block_number bigint not null,
      token text not null,
      timestamp_unix bigint not null,
      amount text not null,
      primary key (chain_id, block_number, token)
    )`

export const UNMINTED = 'unminted'
const INTO = { dataset: UNMINTED, byAccount: false } as const

export interface Unminted {
  readonly chainId: number
  readonly blockNumber: number
  readonly token: string
  readonly timestamp: number
  readonly amount: bigint
}

export async function storeUnminted(
  { connection }: Pick<Change, 'connection'>,
  blocks: readonly Unminted[],
): Promise<void> {
  if (blocks.length === 0) return
  const list = blocks.map(({ chainId, blockNumber, token, timestamp, amount }) => [
    chainId,
    blockNumber,
    token,
    timestamp,
    toStored(amount),
  ])
  for (const part of chunks(list, ROWS_PER_STATEMENT))
    await connection.run(sql`
      insert into unminted (chain_id, block_number, token, timestamp_unix, amount)
      values ${rows(part)}`)
  await foldEvents(
    connection,
    INTO,
    blocks.map((each) => contributionOf(each, 1n)),
  )
}

export async function revertUnminted(
  { connection, chainId }: Pick<Change, 'connection' | 'chainId'>,
  { number }: Pick<Position, 'number'>,
): Promise<void> {
  const removed = await connection.run(sql`
    delete from unminted where chain_id = ${chainId} and block_number > ${number}
    returning chain_id, block_number, token, timestamp_unix, amount`)
  await foldEvents(
    connection,
    INTO,
    removed.map((row) => contributionOf(toUnminted(row), -1n)),
  )
}

function toUnminted(row: Row): Unminted {
  return {
    chainId: column.integer(row, 'chain_id'),
    blockNumber: column.integer(row, 'block_number'),
    token: column.text(row, 'token'),
    timestamp: column.integer(row, 'timestamp_unix'),
    amount: column.bigint(row, 'amount'),
  }
}

function contributionOf({ blockNumber: _, ...each }: Unminted, sign: 1n | -1n): Contribution {
  return {
    chainId: each.chainId,
    token: each.token,
    timestamp: each.timestamp,
    account: null,
    sums: { ...NOTHING, amount: sign * each.amount, events: Number(sign) },
  }
}

/** Excludes what bridges minted and mints undone in their own transaction. */
export async function newlyMinted(connection: Connection, token: string): Promise<bigint> {
  const { minted } = await readTotalSupply(connection, token)
  return minted - (await readUnminted(connection, token))
}

async function readUnminted(connection: Connection, token: string): Promise<bigint> {
  const totals = await connection.run(sql`
    select amount from event_buckets where dataset = ${UNMINTED} and token = ${token}
      and grain = 'total' and bucket_unix <= ${TOTAL}`)
  return totals.reduce((total, row) => total + column.bigint(row, 'amount'), 0n)
}
