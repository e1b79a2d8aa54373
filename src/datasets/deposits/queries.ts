import type { Address, Hash } from '#domain/address.ts'
import type { BlockRef } from '#domain/chain.ts'
import type { Chain, Payment } from '#ecosystem/ecosystem.ts'
import { CHAIN_PART, type FileParts } from '#indexer/adopted-file/file-part.ts'
import { readOtherParts } from '#indexer/adopted-file/tables.ts'
import { readBackfill } from '#indexer/backfill/backfill-row.ts'
import { readPosition, storedBlock } from '#indexer/positions.ts'
import { chunks } from '#lib/chunks.ts'
import type { Connection, Engine, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { empty, join, ROWS_PER_STATEMENT, type Sql, sql } from '#store/sql.ts'
import { DEPOSITS } from './deposits.ts'

/** A payment in the chain as currently indexed. */
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
  readonly amount: bigint
  /** Whether its block was proven. */
  readonly proven: boolean
}

export type DepositSelection =
  | { readonly sinceBlock: number }
  | { readonly txHashes: readonly Hash[] }
  | {
      readonly after: { readonly blockNumber: number; readonly logIndex: number }
      readonly limit: number
    }

export interface DepositReads {
  readonly register: Engine
  readonly payment: Payment
  readonly file: FileParts
}

/** Undefined without a head, or while the register was built from another file. */
export function readDeposits(
  { register, payment, file }: DepositReads,
  selection: DepositSelection,
): Promise<
  | {
      readonly head: BlockRef & { readonly timestamp: number }
      readonly completeFromBlock: number
      readonly isComplete: boolean
      readonly deposits: readonly CanonicalDeposit[]
    }
  | undefined
> {
  const { chain } = payment
  return register.snapshot(async (connection) => {
    const head = await readPosition(connection, chain.id)
    const others = await readOtherParts(connection, file)
    const isOther = others.some(
      ({ chainId, name }) => chainId === chain.id && [DEPOSITS, CHAIN_PART].includes(name),
    )
    if (head === undefined || isOther) return undefined
    const deposits = await selectDeposits(connection, chain.id, selection)
    const completeFromBlock = await completeFrom(connection, chain, head.number)
    const isComplete = completeFromBlock <= chain.startBlock
    return { head, completeFromBlock, isComplete, deposits }
  })
}

/** A first read starts with the newest days, a re-read with nothing. */
async function completeFrom(
  connection: Connection,
  { id, startBlock }: Chain,
  headNumber: number,
): Promise<number> {
  const backfill = await readBackfill(connection, id)
  if (backfill === undefined) return startBlock
  const { datasets, newestFrom } = backfill
  if (datasets === null) return newestFrom.number
  return datasets.includes(DEPOSITS) ? headNumber + 1 : startBlock
}

/** Undefined outside the window of recent blocks. */
export async function readBlockHash(
  { register, payment }: Pick<DepositReads, 'register' | 'payment'>,
  number: number,
): Promise<Hash | undefined> {
  const chainId = payment.chain.id
  const block = await register.snapshot((reads) => storedBlock(reads, { chainId, number }))
  return block?.hash
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
