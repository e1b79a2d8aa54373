import type { ChainSource } from '#chains/chain/chain-source.ts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import type { Hash } from '#domain/address.ts'
import { TRANSFER_TOPIC } from '#domain/token.ts'
import { isMovement } from './check-rows.ts'
import type { TextRow } from './read-statement-file.ts'

/** Credits of the statement whose transfer is not where the statement says. */
export async function findMissingTransfers(
  source: ChainSource,
  payment: Payment,
  rows: readonly TextRow[],
): Promise<readonly TextRow[]> {
  const transfers = rows.filter((row) => isMovement(row) && row.txHash !== undefined)
  // A reversed transfer need not be on the chain any more.
  const reversed = new Set(
    transfers.filter(({ row }) => row === 'reversal').map((row) => row.id?.split(':')[1]),
  )
  const credits = transfers.filter(
    ({ row, id }) => row !== 'reversal' && !reversed.has(id?.split(':')[1]),
  )
  const missing: TextRow[] = []
  for (const [block, listed] of Map.groupBy(credits, (row) => Number(row.blockNumber))) {
    const isKnown = Number.isSafeInteger(block)
    const logs = isKnown ? await source.logsInRange(filterOf(payment), block, block) : []
    for (const row of listed) {
      const log = logs.find(
        ({ txHash, logIndex }) => txHash === row.txHash && logIndex === Number(row.logIndex),
      )
      const isThere =
        log !== undefined &&
        Number(row.chainId) === payment.chain.id &&
        BigInt(log.topics[1] ?? 0) === BigInt(row.payerAddress ?? -1) &&
        BigInt(log.data) === BigInt(row.depositMicroUsd ?? -1)
      if (!isThere) missing.push(row)
    }
  }
  return missing
}

function filterOf({ asset, payTo }: Payment) {
  const receivers = payTo.map(({ address }): Hash => `0x${address.slice(2).padStart(64, '0')}`)
  return {
    addresses: [asset],
    topics: [[TRANSFER_TOPIC], null, receivers],
    pairs: [{ address: asset, topic0: TRANSFER_TOPIC }],
  }
}
