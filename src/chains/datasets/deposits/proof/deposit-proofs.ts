import { type BlockRef, placeOf } from '#domain/chain.ts'
import type { Connection } from '#store/engine.ts'
import { column, sql } from '#store/sql.ts'
import { type DepositFact, storeDeposits } from '../deposits.ts'

export interface UnprovenBlock extends BlockRef {
  /** Null before the first attempt. */
  readonly reason: string | null
}

export async function unprovenBlocks(
  connection: Connection,
  input: {
    readonly chainId: number
    readonly first: 'newest' | 'oldest'
    readonly limit: number
  },
): Promise<readonly UnprovenBlock[]> {
  const order = input.first === 'newest' ? sql`desc` : sql`asc`
  const found = await connection.run(sql`
    select block_number, block_hash, min(unproven_because) as reason
    from deposits where chain_id = ${input.chainId} and proven = 0
    group by block_number, block_hash order by block_number ${order} limit ${input.limit}`)
  return found.map((row) => ({
    number: column.integer(row, 'block_number'),
    hash: column.hex(row, 'block_hash'),
    reason: column.textOrNull(row, 'reason'),
  }))
}

/** Deposits with a failed proof and the newest reason; undefined if none. */
export async function readUnproven(
  connection: Connection,
  chainId: number,
): Promise<{ readonly count: number; readonly reason: string } | undefined> {
  const found = await connection.run(sql`
    select unproven_because, count(*) as waiting, max(block_number) as newest
    from deposits where chain_id = ${chainId} and proven = 0 and unproven_because is not null
    group by unproven_because order by newest desc`)
  const [first] = found
  if (first === undefined) return undefined
  const count = found.reduce((sum, row) => sum + column.integer(row, 'waiting'), 0)
  return { count, reason: column.text(first, 'unproven_because') }
}

export async function noteUnproven(
  connection: Connection,
  input: { readonly chainId: number; readonly block: BlockRef; readonly reason: string },
): Promise<void> {
  const { chainId, block, reason } = input
  await connection.run(sql`
    update deposits set unproven_because = ${reason}
    where chain_id = ${chainId} and block_number = ${block.number}
      and block_hash = ${block.hash} and proven = 0`)
}

/** `left`: the block is no longer in the index. */
type ProofOutcome = 'as-stored' | 'corrected' | 'left'

/**
 * Replaces a block's deposits by the proven ones, unless the index has another block at that
 * height.
 */
export async function applyProof(
  connection: Connection,
  input: {
    readonly chainId: number
    readonly block: BlockRef
    readonly facts: readonly DepositFact[]
  },
): Promise<ProofOutcome> {
  const { chainId, block, facts } = input
  if (!(await isIndexed(connection, chainId, block))) return 'left'
  const stored = await connection.run(sql`
    select block_hash, place, tx_hash, sender, recipient, amount from deposits
    where chain_id = ${chainId} and block_number = ${block.number} order by place`)
  const isSame =
    stored.length === facts.length &&
    facts.every(({ log, sender, recipient, amount }, index) => {
      const row = stored[index]
      return (
        row !== undefined &&
        column.hex(row, 'block_hash') === block.hash &&
        column.integer(row, 'place') === placeOf(log) &&
        column.hex(row, 'tx_hash') === log.txHash &&
        column.hex(row, 'sender') === sender &&
        column.hex(row, 'recipient') === recipient &&
        column.bigint(row, 'amount') === amount
      )
    })
  const ofBlock = sql`chain_id = ${chainId} and block_number = ${block.number}`
  if (!isSame) {
    await connection.run(sql`delete from deposits where ${ofBlock}`)
    await storeDeposits(connection, facts)
  }
  await connection.run(
    sql`update deposits set proven = 1, unproven_because = null where ${ofBlock}`,
  )
  return isSame ? 'as-stored' : 'corrected'
}

/** Whether the index has exactly this block; blocks reorgs until the transaction ends. */
async function isIndexed(
  connection: Connection,
  chainId: number,
  { number, hash }: BlockRef,
): Promise<boolean> {
  // Locks the row that every commit updates.
  const [position] = await connection.run(sql`
    update positions set number = number where chain_id = ${chainId}
    returning number, hash, finalized_number`)
  if (position === undefined || column.integer(position, 'number') < number) return false
  const [known] = await connection.run(sql`
    select hash from blocks where chain_id = ${chainId} and number = ${number}`)
  if (known !== undefined) return column.hex(known, 'hash') === hash
  return number <= column.integer(position, 'finalized_number')
}
