import type { Address, Hash } from '#domain/address.ts'
import type { BlockRef } from '#domain/chain.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import { readPosition } from '#indexer/positions.ts'
import { chunks } from '#lib/chunks.ts'
import type { Connection, Engine, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { empty, join, ROWS_PER_STATEMENT, type Sql, sql } from '#store/sql.ts'

/** A payment to the operator that is part of the chain as indexed now. */
export interface CanonicalDeposit {
  readonly chainId: number
  readonly blockNumber: number
  readonly blockHash: Hash
  readonly timestampUnix: number
  readonly txHash: Hash
  readonly logIndex: number
  readonly positionInTx: number
  readonly from: Address
  readonly to: Address
  /** Base units of the asset. */
  readonly amount: bigint
  /** Its block was proven to hold it. */
  readonly proven: boolean
}

export type DepositSelection =
  | { readonly sinceBlock: number }
  | { readonly txHashes: readonly Hash[] }
  | {
      readonly after: { readonly blockNumber: number; readonly logIndex: number }
      readonly limit: number
    }

/** Deposits of the payment chain together with the head they belong to; undefined without a head. */
export function readDeposits(
  deps: { readonly register: Engine; readonly payment: Payment },
  selection: DepositSelection,
): Promise<
  | {
      readonly head: BlockRef & { readonly timestamp: number }
      readonly completeFromBlock: number
      readonly deposits: readonly CanonicalDeposit[]
    }
  | undefined
> {
  const { chain } = deps.payment
  return deps.register.snapshot(async (connection) => {
    const head = await readPosition(connection, chain.id)
    if (head === undefined) return undefined
    const deposits = await selectDeposits(connection, chain.id, selection)
    return { head, completeFromBlock: chain.startBlock, deposits }
  })
}

async function selectDeposits(
  connection: Connection,
  chainId: number,
  selection: DepositSelection,
): Promise<readonly CanonicalDeposit[]> {
  if ('sinceBlock' in selection)
    return runSelection(connection, chainId, sql`block_number >= ${selection.sinceBlock}`)
  if ('after' in selection) {
    const { blockNumber, logIndex } = selection.after
    const behind = sql`(block_number, log_index) > (${blockNumber}, ${logIndex})`
    return runSelection(connection, chainId, behind, sql`limit ${selection.limit}`)
  }
  const found: CanonicalDeposit[] = []
  for (const part of chunks(selection.txHashes, ROWS_PER_STATEMENT))
    found.push(...(await runSelection(connection, chainId, sql`tx_hash in (${join(part)})`)))
  return found
}

async function runSelection(
  connection: Connection,
  chainId: number,
  condition: Sql,
  limit: Sql = empty,
) {
  const found = await connection.run(sql`
    select chain_id, block_number, block_hash, timestamp_unix, tx_hash, log_index, position_in_tx,
      sender, recipient, amount, proof
    from deposits where chain_id = ${chainId} and ${condition}
    order by block_number, log_index ${limit}`)
  return found.map(toDeposit)
}

function toDeposit(row: Row): CanonicalDeposit {
  return {
    chainId: column.integer(row, 'chain_id'),
    blockNumber: column.integer(row, 'block_number'),
    blockHash: column.hex(row, 'block_hash'),
    timestampUnix: column.integer(row, 'timestamp_unix'),
    txHash: column.hex(row, 'tx_hash'),
    logIndex: column.integer(row, 'log_index'),
    positionInTx: column.integer(row, 'position_in_tx'),
    from: column.hex(row, 'sender'),
    to: column.hex(row, 'recipient'),
    amount: column.u256(row, 'amount'),
    proven: column.textOrNull(row, 'proof') !== null,
  }
}
