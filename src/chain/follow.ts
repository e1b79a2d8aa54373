import { LRUCache } from 'lru-cache'
import { fromHex } from 'ox/Bytes'
import { keccak256 } from 'ox/Hash'
import { allEnded, chunks } from '#base/async.ts'
import type { BlockHeader, BlockRef, Log } from '#base/chain.ts'
import { orderLogs } from '#chain/parse-rpc.ts'
import type {
  ChainEvent,
  ChainSource,
  ChainTip,
  LogFilter,
  Position,
  SourceLog,
} from './chain-source.ts'
import { RpcError } from './rpc-error.ts'

export interface FollowDeps {
  readonly source: ChainSource
  readonly filters: readonly LogFilter[]
  readonly startBlock: number
  readonly finality: 'tag' | number
  /** `every`: logs of new blocks come from receipts that hash to their block. */
  readonly proofs: 'every' | 'deposits'
  stored(number: number): Promise<BlockRef | undefined>
}

const BLOCKS_MAX = 64

/**
 * Closer to the finalized head, two nodes may disagree about a range: read single blocks with
 * proven links.
 */
const HISTORY_MARGIN = 64

export async function followChain(
  deps: FollowDeps,
  position: Position | undefined,
): Promise<ChainEvent> {
  const [{ final, ...tip }, same] = await Promise.all([
    readTip(deps),
    position === undefined ? undefined : deps.source.header(position.number),
  ])
  if (position !== undefined) {
    if (position.number > tip.head.number) return await behind(deps, tip)
    if (same === undefined) throw new RpcError(`the node does not know block ${position.number}`)
    if (same.hash !== position.hash)
      return { kind: 'reorg', tip: notFinal(tip), ancestor: await ancestor(deps, position.number) }
  }
  const next = position === undefined ? deps.startBlock : position.number + 1
  if (next > tip.head.number) {
    if (position === undefined) return { kind: 'idle', tip }
    if (position.hash !== tip.head.hash)
      throw new UnlinkedBlocksError(
        `block ${position.number} is ${tip.head.hash} at the head, but ${position.hash} in the index; the nodes disagree`,
      )
    return { kind: 'idle', tip: await provenTip(deps, { tip, final, headers: [] }) }
  }
  const to = tip.finalized - HISTORY_MARGIN
  if (next <= to) return { kind: 'history', tip, from: next, to }
  const range = { from: next, head: tip.head, blocksMax: BLOCKS_MAX }
  const blocks = await readBlocks(deps, position, range)
  const headers = blocks.map(({ header }) => header)
  // Finality is known for the head's branch only.
  if (headers.at(-1)?.hash !== tip.head.hash) return { kind: 'blocks', tip: notFinal(tip), blocks }
  return { kind: 'blocks', tip: await provenTip(deps, { tip, final, headers }), blocks }
}

function notFinal(tip: ChainTip): ChainTip {
  return { ...tip, safe: 0, finalized: 0 }
}

/** Two nodes may disagree: the finalized block must be on the head's branch. */
async function provenTip(
  deps: FollowDeps,
  input: {
    readonly tip: ChainTip
    readonly final: BlockRef | undefined
    readonly headers: readonly BlockHeader[]
  },
): Promise<ChainTip> {
  const { tip, final, headers } = input
  if (final === undefined) return tip
  // A lagging node gave the head, whose branch is not known yet.
  if (final.number > tip.head.number) return notFinal(tip)
  const read = headers.find(({ number }) => number === final.number)
  const ours = read ?? (await deps.stored(final.number))
  if (ours !== undefined && ours.hash !== final.hash)
    throw new UnlinkedBlocksError(
      `the final block ${final.number} is not on the branch of the head`,
    )
  return tip
}

export async function ancestor(deps: FollowDeps, below: number): Promise<BlockHeader> {
  for (let number = below - 1; ; number -= 1) {
    const stored = await deps.stored(number)
    const isBeforeAll = number >= 0 && number < deps.startBlock
    if (stored === undefined && !isBeforeAll) throw new DeepReorgError(number)
    const header = await deps.source.header(number)
    if (header === undefined) throw new RpcError(`the node does not know block ${number}`)
    // Nothing is stored below it.
    if (header.hash === stored?.hash || isBeforeAll) return header
  }
}

/** Needs an operator; nothing is deleted. */
export class DeepReorgError extends Error {
  override readonly name = 'DeepReorgError'
  constructor(number: number) {
    super(
      `the chain differs from the index below block ${number + 1}, which is older than finality allows; check the endpoint`,
    )
  }
}

async function behind(deps: FollowDeps, tip: ChainTip): Promise<ChainEvent> {
  const stored = await deps.stored(tip.head.number)
  return { kind: 'behind', tip, forked: stored !== undefined && stored.hash !== tip.head.hash }
}

export async function readTip(
  deps: Pick<FollowDeps, 'source' | 'finality'>,
): Promise<ChainTip & { readonly final: BlockRef | undefined }> {
  const { source, finality } = deps
  const [chainId, head, safe, finalized] = await Promise.all([
    source.askChainId(),
    source.header('latest'),
    finality === 'tag' ? source.header('safe') : undefined,
    finality === 'tag' ? source.header('finalized') : undefined,
  ])
  if (chainId !== source.chainId)
    throw new RpcError(`the node now serves chain ${chainId}, not ${source.chainId}`)
  if (head === undefined) throw new RpcError('the node knows no latest block')
  const depth = typeof finality === 'number' ? finality : 0
  const finalNumber = finality === 'tag' ? (finalized?.number ?? 0) : head.number - depth
  return {
    head,
    final: finalized,
    finalized: clamp(finalNumber, head.number),
    safe: clamp(finality === 'tag' ? (safe?.number ?? finalNumber) : finalNumber, head.number),
  }
}

function clamp(number: number, head: number): number {
  return Math.max(0, Math.min(number, head))
}

async function readBlocks(
  deps: Pick<FollowDeps, 'source' | 'filters' | 'proofs'>,
  position: Pick<Position, 'hash'> | undefined,
  range: { readonly from: number; readonly head: BlockHeader; readonly blocksMax: number },
) {
  const { from, head } = range
  const to = Math.min(head.number, from + range.blocksMax - 1)
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index)
  const headers = await Promise.all(
    numbers.map((number) => (number === head.number ? head : deps.source.header(number))),
  )
  const linked = checkLinks(headers, position)
  const logs = await readLogs(deps, linked)
  return linked.map((header, index) => ({ header, logs: logs[index] ?? [] }))
}

async function readLogs(
  { source, filters, proofs }: Pick<FollowDeps, 'source' | 'filters' | 'proofs'>,
  headers: readonly BlockHeader[],
): Promise<readonly (readonly Log[])[]> {
  if (proofs === 'deposits')
    return Promise.all(headers.map((header) => fetchBlockLogs(source, filters, header)))
  const logs: (readonly Log[])[] = []
  for (const part of chunks(headers, PROVEN_AT_ONCE))
    logs.push(...(await allEnded(part.map((header) => proveBlockLogs(source, filters, header)))))
  return logs
}

/** Receipts of a block take up to a megabyte. */
const PROVEN_AT_ONCE = 4

/** The chain moved between calls, or nodes disagree. */
export class UnlinkedBlocksError extends RpcError {}

function unlinkedError({ number }: BlockHeader, parent: string): UnlinkedBlocksError {
  return new UnlinkedBlocksError(`block ${number} does not follow ${parent}; the chain moved`)
}

function checkLinks(
  headers: readonly (BlockHeader | undefined)[],
  position: Pick<Position, 'hash'> | undefined,
): BlockHeader[] {
  const linked: BlockHeader[] = []
  for (const header of headers) {
    if (header === undefined) throw new RpcError('the node does not know a block below its head')
    const parent = linked.at(-1)?.hash ?? position?.hash
    if (parent !== undefined && header.parentHash !== parent) throw unlinkedError(header, parent)
    linked.push(header)
  }
  return linked
}

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

async function proveBlockLogs(
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
  // A list by number may lack logs, since it may be of another branch.
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
  return listBloomBits(item).every(
    (bit) => ((bloom[255 - (bit >> 3)] ?? 0) & (1 << (bit & 7))) !== 0,
  )
}

/** Cached, because hashing is slow, and contracts and kinds of events recur in every block. */
const known = new LRUCache<`0x${string}`, readonly number[]>({ max: 4_096 })

function listBloomBits(item: `0x${string}`): readonly number[] {
  const before = known.get(item)
  if (before !== undefined) return before
  const hash = keccak256(fromHex(item), { as: 'Bytes' })
  const bits = [0, 2, 4].map(
    (start) => (((hash[start] ?? 0) << 8) | (hash[start + 1] ?? 0)) & 0x7ff,
  )
  known.set(item, bits)
  return bits
}
