import type { ChainStatus, IndexStatus } from '#chains/indexer/status.ts'
import type { Connection } from '#store/engine.ts'
import { column, sql } from '#store/sql.ts'
import type { AuditDeps } from './audit-deps.ts'

/**
 * Checks timestamps, order of marks, chains and an unbroken line of blocks from finalized to the
 * position; returns the first difference.
 */
export async function provePositions(
  deps: Pick<AuditDeps, 'ecosystem' | 'sourceOf' | 'note'>,
  stored: Connection,
  status: IndexStatus,
): Promise<string | undefined> {
  const known = new Set(deps.ecosystem.chains.map((chain) => chain.id))
  const found = await stored.run(sql`select chain_id from positions order by chain_id`)
  const stranger = found.find((row) => !known.has(column.integer(row, 'chain_id')))
  if (stranger !== undefined) return `positions: chain ${stranger.chain_id} is not in the file`
  for (const each of status.chains) {
    const difference = (await proveMarks(deps, each)) ?? (await proveBlocks(deps, stored, each))
    if (difference !== undefined) return difference
  }
  return undefined
}

async function proveMarks(
  deps: Pick<AuditDeps, 'sourceOf'>,
  status: ChainStatus,
): Promise<string | undefined> {
  const { chain, blockNumber, safeNumber, finalizedNumber } = status
  const header = await deps.sourceOf(chain).header(blockNumber)
  if (header?.timestamp !== status.blockTimeUnix)
    return `${chain.name}: block ${blockNumber} has timestamp ${header?.timestamp}, the register has ${status.blockTimeUnix}`
  if (finalizedNumber > safeNumber || safeNumber > blockNumber)
    return `${chain.name}: finalized ${finalizedNumber}, safe ${safeNumber} and position ${blockNumber} are out of order`
  return undefined
}

async function proveBlocks(
  deps: Pick<AuditDeps, 'sourceOf' | 'note'>,
  stored: Connection,
  status: ChainStatus,
): Promise<string | undefined> {
  const { chain, blockNumber, finalizedNumber } = status
  const found = await stored.run(sql`
    select number, hash, parent_hash from blocks where chain_id = ${chain.id} order by number`)
  const source = deps.sourceOf(chain)
  const headers = await Promise.all(
    found.map((row) => source.header(column.integer(row, 'number'))),
  )
  for (const [index, row] of found.entries()) {
    const header = headers[index]
    if (row.hash !== header?.hash || row.parent_hash !== header?.parentHash)
      return `${chain.name}: the stored block ${row.number} is ${row.hash}, the chain has ${header?.hash}`
  }
  const first = Math.max(finalizedNumber, chain.startBlock)
  const expected = blockNumber - first + 1
  if (found.length < expected || found[0]?.number !== blockNumber - found.length + 1)
    return `${chain.name}: only ${found.length} of the blocks ${first} to ${blockNumber} are stored`
  deps.note(`${chain.name}: position, marks and ${found.length} stored blocks match the chain`)
  return undefined
}
