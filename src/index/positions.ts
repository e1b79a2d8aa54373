import type { BlockHeader, BlockRef } from '#base/chain.ts'
import type { ChainTip, Position } from '#chain/chain-event.ts'
import type { Connection } from '#db/engine.ts'
import { column, type Row, rows, sql } from '#db/sql.ts'

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
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  await connection.run(sql`
    delete from blocks where chain_id = ${chainId} and (number < ${from} or number > ${to})`)
}
