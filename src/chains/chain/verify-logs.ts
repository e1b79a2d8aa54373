import { LRUCache } from 'lru-cache'
import { fromHex } from 'ox/Bytes'
import { keccak256 } from 'ox/Hash'
import { orderLogs } from '#chains/chain/parse-rpc.ts'
import type { BlockHeader, Log } from '#domain/chain.ts'
import type { ChainSource, SourceLog } from './chain-source.ts'
import type { LogFilter } from './log-filter.ts'
import { RpcError } from './rpc-error.ts'

/** If the bloom admits a missing event or is unknown, the block's receipts must confirm the logs. */
export async function fetchBlockLogs(
  source: ChainSource,
  filters: readonly LogFilter[],
  header: BlockHeader,
): Promise<readonly Log[]> {
  let asked: ReturnType<ChainSource['receiptLogs']> | undefined
  const receiptLogs = () => {
    asked ??= source.receiptLogs(header.hash)
    return asked
  }
  const lists = await Promise.all(
    filters.map(async (filter) => {
      if (!bloomAdmits(header.logsBloom, filter)) return []
      const logs = verifyLogs(header, await source.logsInBlock(filter, header.hash))
      refuseForged(header, logs)
      if (!explainsBloom(header, filter, logs))
        await compare({ source, receiptLogs }, { header, filter, logs })
      return logs
    }),
  )
  return orderLogs(lists.flat())
}

export async function proveBlockLogs(
  source: ChainSource,
  filters: readonly LogFilter[],
  header: BlockHeader,
): Promise<readonly Log[]> {
  const { header: proven, logs } = await source.provenBlock(header, ({ logsBloom }) =>
    filters.some((filter) => bloomAdmits(logsBloom, filter)),
  )
  if (header.parentHash !== proven.parentHash || header.timestamp !== proven.timestamp) {
    const message = `block ${header.number} ${header.hash}: the node returned a false parent or time`
    throw new RpcError(message, { lie: true })
  }
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
  { logsBloom }: BlockHeader,
  filter: LogFilter,
  logs: readonly SourceLog[],
): boolean {
  if (logsBloom === null || (filter.addresses === null && logs.length === 0)) return false
  if (filter.pairs === undefined) return logs.length > 0
  const given = new Set(logs.map((log) => `${log.address}|${log.topics[0]}`))
  return admittedPairs(logsBloom, filter.pairs).every(({ address, topic0 }) =>
    given.has(`${address}|${topic0}`),
  )
}

/** Compares with the receipts or, without that method, with the answer for the block's number. */
async function compare(
  deps: { readonly source: ChainSource; receiptLogs(): ReturnType<ChainSource['receiptLogs']> },
  block: {
    readonly header: BlockHeader
    readonly filter: LogFilter
    readonly logs: readonly Log[]
  },
): Promise<void> {
  const { filter, logs } = block
  const { number, hash } = block.header
  const told = `block ${number} ${hash}: the node returned ${logs.length} logs`
  const receipts = await deps.receiptLogs()
  const others = receipts ?? (await deps.source.logsInRange(filter, number, number))
  const all = others.filter((log) => log.blockHash === hash && matches(filter, log))
  const both = orderLogs<SourceLog>([...logs, ...all])
  const where = receipts === undefined ? 'its list by number holds' : 'its receipts hold'
  if (both.length > logs.length)
    throw new RpcError(`${told}, but ${where} ${both.length - logs.length} more`)
  // A request by number may have been answered from another branch.
  if (receipts !== undefined && both.length > all.length)
    throw new RpcError(`${told}, but its receipts lack ${both.length - all.length} of them`)
}

export function matches(filter: LogFilter, log: Pick<Log, 'address' | 'topics'>): boolean {
  const { addresses } = filter
  if (addresses?.includes(log.address) === false) return false
  return filter.topics.every((values, position) => {
    const topic = log.topics[position]
    return values === null || (topic !== undefined && values.includes(topic))
  })
}

export function verifyLogs(header: BlockHeader, logs: readonly SourceLog[]): readonly Log[] {
  for (const log of logs) {
    if (log.blockHash !== header.hash || log.blockNumber !== header.number)
      throw new RpcError(
        `asked for block ${header.number} ${header.hash}, got a log of ${log.blockNumber} ${log.blockHash}`,
      )
    if (log.timestamp !== null && log.timestamp !== header.timestamp)
      throw new RpcError(`block ${header.number}: a log's time differs from its block's`)
  }
  return orderLogs(logs).map((log) => ({ ...log, timestamp: header.timestamp }))
}

/** Yellow Paper, 4.3.1; true may be chance, and always for an unknown bloom. */
export function bloomAdmits(logsBloom: BlockHeader['logsBloom'], filter: LogFilter): boolean {
  if (logsBloom === null) return true
  const bloom = fromHex(logsBloom)
  const { addresses } = filter
  const anyAddress = addresses === null || addresses.some((address) => holds(bloom, address))
  return (
    anyAddress &&
    filter.topics.every((values) => values === null || values.some((topic) => holds(bloom, topic)))
  )
}

function admittedPairs(
  logsBloom: `0x${string}`,
  pairs: NonNullable<LogFilter['pairs']>,
): NonNullable<LogFilter['pairs']> {
  const bloom = fromHex(logsBloom)
  return pairs.filter(({ address, topic0 }) => holds(bloom, address) && holds(bloom, topic0))
}

function holds(bloom: Uint8Array, item: `0x${string}`): boolean {
  return bitsOf(item).every((bit) => ((bloom[255 - (bit >> 3)] ?? 0) & (1 << (bit & 7))) !== 0)
}

/** Cached, because hashing is slow, and contracts and kinds of events recur in every block. */
const known = new LRUCache<`0x${string}`, readonly number[]>({ max: 4_096 })

function bitsOf(item: `0x${string}`): readonly number[] {
  const before = known.get(item)
  if (before !== undefined) return before
  const hash = keccak256(fromHex(item), { as: 'Bytes' })
  const bits = [0, 2, 4].map(
    (start) => (((hash[start] ?? 0) << 8) | (hash[start + 1] ?? 0)) & 0x7ff,
  )
  known.set(item, bits)
  return bits
}
