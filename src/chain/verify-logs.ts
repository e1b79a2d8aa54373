import type { BlockHeader, Log } from '#domain/chain.ts'
import { admittedPairs, bloomAdmits } from './bloom.ts'
import type { ChainSource, SourceLog } from './chain-source.ts'
import type { LogFilter } from './log-filter.ts'
import { RpcError } from './rpc-error.ts'

/** If the bloom admits a missing event, the block's receipts must confirm its absence. */
export async function fetchBlockLogs(
  source: ChainSource,
  filters: readonly LogFilter[],
  header: BlockHeader,
): Promise<readonly Log[]> {
  const lists = await Promise.all(
    filters.map(async (filter) => {
      if (!bloomAdmits(header.logsBloom, filter)) return []
      const logs = await source.logsInBlock(filter, header.hash)
      refuseForged(header, logs)
      if (!explainsBloom(header, filter, logs))
        await proveComplete(source, { filter, header, logs })
      return logs
    }),
  )
  return verifyLogs(header, lists.flat())
}

export async function proveBlockLogs(
  source: ChainSource,
  filters: readonly LogFilter[],
  header: BlockHeader,
): Promise<readonly Log[]> {
  const { logs } = await source.provenBlock(header, ({ logsBloom }) =>
    filters.some((filter) => bloomAdmits(logsBloom, filter)),
  )
  return logs.filter((log) => filters.some((filter) => matches(filter, log)))
}

/** A log that the bloom does not admit is made up. */
function refuseForged(header: BlockHeader, logs: readonly SourceLog[]): void {
  for (const { address, topics } of logs) {
    const self = { addresses: [address], topics: topics.map((topic) => [topic]) }
    if (bloomAdmits(header.logsBloom, self)) continue
    const message = `block ${header.number} ${header.hash}: the node returned a log that the bloom excludes`
    throw new RpcError(message, { lie: true })
  }
}

function explainsBloom(
  header: BlockHeader,
  filter: LogFilter,
  logs: readonly SourceLog[],
): boolean {
  if (filter.pairs === undefined) return logs.length > 0
  const given = new Set(logs.map((log) => `${log.address}|${log.topics[0]}`))
  return admittedPairs(header.logsBloom, filter.pairs).every(({ address, topic0 }) =>
    given.has(`${address}|${topic0}`),
  )
}

async function proveComplete(
  source: ChainSource,
  block: {
    readonly filter: LogFilter
    readonly header: BlockHeader
    readonly logs: readonly SourceLog[]
  },
): Promise<void> {
  const { filter, header, logs } = block
  const all = await source.receiptLogs(header.hash)
  if (all === undefined) return
  const given = new Set(logs.map((log) => log.logIndex))
  const missed = all.filter((log) => matches(filter, log) && !given.has(log.logIndex))
  if (missed.length > 0)
    throw new RpcError(
      `block ${header.number} ${header.hash}: the node returned ${logs.length} logs, but its receipts hold ${missed.length} more`,
    )
}

export function matches(filter: LogFilter, log: Pick<Log, 'address' | 'topics'>): boolean {
  if (!filter.addresses.includes(log.address)) return false
  return filter.topics.every((values, position) => {
    const topic = log.topics[position]
    return values === null || (topic !== undefined && values.includes(topic))
  })
}

export function verifyLogs(header: BlockHeader, logs: readonly SourceLog[]): readonly Log[] {
  const seen = new Set<number>()
  const out: Log[] = []
  for (const log of logs) {
    if (log.blockHash !== header.hash || log.blockNumber !== header.number)
      throw new RpcError(
        `asked for block ${header.number} ${header.hash}, got a log of ${log.blockNumber} ${log.blockHash}`,
      )
    if (log.timestamp !== null && log.timestamp !== header.timestamp)
      throw new RpcError(`block ${header.number}: a log's time differs from its block's`)
    if (seen.has(log.logIndex)) continue
    seen.add(log.logIndex)
    out.push({ ...log, timestamp: header.timestamp })
  }
  return out.sort((a, b) => a.logIndex - b.logIndex)
}
