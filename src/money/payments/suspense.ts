import type { Deposit } from '#domain/deposit.ts'
import type { Connection } from '#store/engine.ts'
import { column, join, sql } from '#store/sql.ts'
import type { DepositIndex } from './deposit.ts'

const PAGE_DEPOSITS = 500

const BEFORE_ALL: Pick<Deposit, 'blockNumber' | 'txHash' | 'positionInTx'> = {
  blockNumber: -1,
  txHash: '0x',
  positionInTx: -1,
}

export async function* depositPages(index: DepositIndex): AsyncIterable<readonly Deposit[]> {
  let after = BEFORE_ALL
  for (;;) {
    const known = await index.canonical({ after, limit: PAGE_DEPOSITS })
    const page = known?.deposits ?? []
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    after = last
  }
}

export async function readSuspense(
  connection: Connection,
  index: DepositIndex,
): Promise<{ readonly deposits: number; readonly microUsd: bigint }> {
  let [deposits, microUsd] = [0, 0n]
  for await (const page of depositPages(index)) {
    const credited = await creditedLogs(connection, page)
    for (const deposit of page) {
      if (credited.has(logName(deposit))) continue
      deposits += 1
      microUsd += deposit.amount
    }
  }
  return { deposits, microUsd }
}

async function creditedLogs(
  connection: Connection,
  page: readonly Deposit[],
): Promise<ReadonlySet<string>> {
  const found: string[] = []
  for (const [chainId, deposits] of Map.groupBy(page, (deposit) => deposit.chainId)) {
    const hashes = [...new Set(deposits.map((deposit) => deposit.txHash))]
    const live = await connection.run(sql`
      select block_hash, tx_hash, log_index from credits
      where chain_id = ${chainId} and tx_hash in (${join(hashes)}) and reversed_unix is null`)
    for (const row of live) {
      const [blockHash, txHash] = [column.hex(row, 'block_hash'), column.hex(row, 'tx_hash')]
      const logIndex = column.integer(row, 'log_index')
      found.push(logName({ chainId, blockHash, txHash, logIndex }))
    }
  }
  return new Set(found)
}

/** Names the transaction too, because some chains number logs within it. */
export function logName(
  log: Pick<Deposit, 'chainId' | 'blockHash' | 'txHash' | 'logIndex'>,
): string {
  return `${log.chainId}:${log.blockHash}:${log.txHash}:${log.logIndex}`
}
