import type { SourceLog } from './chain-source.ts'
import { RpcError } from './rpc-error.ts'

/**
 * Returns logs in chain order, each once. Some chains number logs per transaction, so a log's place is its
 * block, transaction and log index.
 */
export function orderLogs<Each extends SourceLog>(logs: readonly Each[]): readonly Each[] {
  const sorted = logs.toSorted(
    (a, b) => a.blockNumber - b.blockNumber || a.txIndex - b.txIndex || a.logIndex - b.logIndex,
  )
  return sorted.filter((log, index) => {
    const before = sorted[index - 1]
    if (before === undefined || placeOf(before) !== placeOf(log)) return true
    if (contentOf(before) === contentOf(log)) return false
    const message = `block ${log.blockNumber} ${log.blockHash}: the node returned two different logs with transaction index ${log.txIndex} and log index ${log.logIndex}`
    throw new RpcError(message, { lie: true })
  })
}

function placeOf({ blockHash, txIndex, logIndex }: SourceLog): string {
  return `${blockHash} ${txIndex} ${logIndex}`
}

function contentOf({ address, topics, data, txHash }: SourceLog): string {
  return [txHash, address, ...topics, data].join(' ')
}
