import { readProgress, storedBlock } from '#chains/indexer/positions.ts'
import { SYNCING_BLOCKS } from '#chains/indexer/status.ts'
import type { Context } from '#context.ts'
import type { Hash } from '#domain/address.ts'
import { logIndexAt } from '#domain/chain.ts'
import type { CanonicalDeposits, Deposit, DepositQuery } from '#domain/deposit.ts'
import { chunks } from '#lib/chunks.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { column, join, ROWS_PER_STATEMENT, type Row, type Sql, sql } from '#store/sql.ts'

/** Undefined without payments or a head. */
export async function readDeposits(
  { register, ecosystem }: Pick<Context, 'register' | 'ecosystem'>,
  selection: DepositQuery,
): Promise<CanonicalDeposits | undefined> {
  if (ecosystem.payment === null) return undefined
  const { chain } = ecosystem.payment
  return register.snapshot(async (connection) => {
    const progress = await readProgress(connection, chain.id)
    if (progress === undefined) return undefined
    const deposits = await selectDeposits(connection, chain.id, selection)
    const { position: head, headNumber } = progress
    const isComplete = headNumber - head.number <= SYNCING_BLOCKS
    return { head, completeFromBlock: chain.startBlock, isComplete, deposits }
  })
}

/** Undefined outside the window of recent blocks. */
export async function readBlockHash(
  register: Engine,
  chainId: number,
  number: number,
): Promise<Hash | undefined> {
  const block = await register.snapshot((reads) => storedBlock(reads, { chainId, number }))
  return block?.hash
}

async function selectDeposits(
  connection: Connection,
  chainId: number,
  selection: DepositQuery,
): Promise<readonly Deposit[]> {
  if ('sinceBlock' in selection)
    return runSelection(connection, chainId, sql`block_number >= ${selection.sinceBlock}`)
  if ('after' in selection) {
    const { blockNumber, txHash, positionInTx } = selection.after
    const behind = sql`(block_number, tx_hash, position_in_tx)
      > (${blockNumber}, ${txHash}, ${positionInTx})`
    const page = sql`order by block_number, tx_hash, position_in_tx limit ${selection.limit}`
    return runSelection(connection, chainId, behind, page)
  }
  const found: Deposit[] = []
  for (const part of chunks(selection.txHashes, ROWS_PER_STATEMENT))
    found.push(...(await runSelection(connection, chainId, sql`tx_hash in (${join(part)})`)))
  return found
}

async function runSelection(
  connection: Connection,
  chainId: number,
  condition: Sql,
  order: Sql = sql`order by block_number, place`,
) {
  const found = await connection.run(sql`
    select chain_id, block_number, block_hash, timestamp_unix, tx_hash, place, position_in_tx,
      sender, recipient, amount, proven
    from deposits where chain_id = ${chainId} and ${condition}
    ${order}`)
  return found.map(toDeposit)
}

function toDeposit(row: Row): Deposit {
  return {
    chainId: column.integer(row, 'chain_id'),
    blockNumber: column.integer(row, 'block_number'),
    blockHash: column.hex(row, 'block_hash'),
    timestampUnix: column.integer(row, 'timestamp_unix'),
    txHash: column.hex(row, 'tx_hash'),
    logIndex: logIndexAt(column.integer(row, 'place')),
    positionInTx: column.integer(row, 'position_in_tx'),
    from: column.hex(row, 'sender'),
    to: column.hex(row, 'recipient'),
    amount: column.bigint(row, 'amount'),
    proven: column.flag(row, 'proven'),
  }
}
