import { createMPT } from '@ethereumjs/mpt'
import { keccak256 } from 'ox/Hash'
import { toBytes } from 'ox/Hex'
import { fromHex } from 'ox/Rlp'
import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import type { Address, Hash } from '#base/address.ts'
import type { BlockHeader } from '#base/chain.ts'
import type { LogFilter, SourceLog } from './chain-source.ts'
import { RpcError } from './rpc-error.ts'

const text = (pattern: string) => Type.String({ pattern })

const quantity = text('^0x[0-9a-fA-F]{1,14}$')
const bigQuantity = text('^0x[0-9a-fA-F]{1,64}$')
const hash = text('^0x[0-9a-fA-F]{64}$')
const address = text('^0x[0-9a-fA-F]{40}$')
const bytes = text('^0x(?:[0-9a-fA-F]{2})*$')
const logsBloom = text('^0x[0-9a-fA-F]{512}$')
const topics = Type.Array(hash, { maxItems: 4 })

const optional = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]))

const rpcLog = Type.Object({
  address,
  topics,
  data: bytes,
  blockNumber: quantity,
  blockHash: hash,
  transactionHash: hash,
  transactionIndex: quantity,
  logIndex: quantity,
  // Some servers send a number.
  blockTimestamp: optional(Type.Union([quantity, Type.Integer({ minimum: 0 })])),
  removed: Type.Optional(Type.Boolean()),
})

const provableReceipt = Type.Object({
  transactionHash: hash,
  transactionIndex: quantity,
  cumulativeGasUsed: quantity,
  type: optional(quantity),
  status: optional(quantity),
  root: optional(hash),
  depositNonce: optional(quantity),
  depositReceiptVersion: optional(quantity),
  baseFee: optional(bigQuantity),
  logsBloom,
  logs: Type.Array(Type.Object({ address, topics, data: bytes, logIndex: optional(quantity) })),
})

const checkBlock = Compile(
  Type.Object({
    number: quantity,
    hash,
    parentHash: hash,
    timestamp: quantity,
    logsBloom,
  }),
)
const checkLogs = Compile(Type.Array(rpcLog))
const checkProvableReceipts = Compile(Type.Array(provableReceipt))
const checkHashes = Compile(Type.Array(hash))
const checkReceipts = Compile(Type.Array(Type.Object({ logs: Type.Array(rpcLog) })))
const checkBytes = Compile(bytes)
const checkQuantity = Compile(quantity)

export function parseBlock(value: unknown): BlockHeader | undefined {
  if (value === null) return undefined
  if (!checkBlock.Check(value)) throw malformed('block', checkBlock.Errors(value))
  return {
    number: Number(value.number),
    hash: lower(value.hash),
    parentHash: lower(value.parentHash),
    timestamp: Number(value.timestamp),
    logsBloom: hashHeader({ ...value }) === lower(value.hash) ? lower(value.logsBloom) : null,
  }
}

export function parseLogs(value: unknown, chainId: number): readonly SourceLog[] {
  if (!checkLogs.Check(value)) throw malformed('list of logs', checkLogs.Errors(value))
  // What is marked as removed has left the chain.
  const present = value.filter(({ removed }) => removed !== true)
  return orderLogs(present.map((log) => toSourceLog(log, chainId)))
}

/** The logs of a range that the filter names, in chain order. */
export function parseRange(
  value: unknown,
  asked: {
    readonly chainId: number
    readonly filter: LogFilter
    readonly from: number
    readonly to: number
  },
): readonly SourceLog[] {
  const { from, to } = asked
  const logs = namedBy(asked.filter, parseLogs(value, asked.chainId))
  const [first, last] = [logs[0]?.blockNumber ?? from, logs.at(-1)?.blockNumber ?? to]
  if (first >= from && last <= to) return logs
  throw new RpcError(`asked for logs of ${from} to ${to}, got ${first} to ${last}`)
}

/** Throws RpcError if a block has two hashes. */
export function namedBy(filter: LogFilter, logs: readonly SourceLog[]): readonly SourceLog[] {
  for (const [index, { blockNumber, blockHash }] of logs.entries()) {
    const before = logs[index - 1]
    if (before?.blockNumber === blockNumber && before.blockHash !== blockHash)
      throw new RpcError('the logs of one block name two block hashes')
  }
  const named = topicsByAddress(filter)
  return logs.filter(({ address, topics }) => named.get(address)?.has(topics[0] ?? ''))
}

type TopicsByAddress = ReadonlyMap<string, ReadonlySet<string>>

/** A filter may name 100,000 contracts. */
const knownTopics = new WeakMap<LogFilter, TopicsByAddress>()

function topicsByAddress(filter: LogFilter): TopicsByAddress {
  const known = knownTopics.get(filter)
  if (known !== undefined) return known
  const byAddress = Map.groupBy(filter.pairs ?? [], ({ address }) => address)
  const topics = new Map(
    [...byAddress].map(([address, own]) => [address, new Set(own.map(({ topic0 }) => topic0))]),
  )
  knownTopics.set(filter, topics)
  return topics
}

export function parseReceiptLogs(value: unknown, chainId: number): readonly SourceLog[] {
  if (!checkReceipts.Check(value)) throw malformed('list of receipts', checkReceipts.Errors(value))
  return orderLogs(value.flatMap((receipt) => receipt.logs.map((log) => toSourceLog(log, chainId))))
}

/** Parses what `receiptsRoot` commits to. */
export function parseReceipts(value: unknown) {
  if (!checkProvableReceipts.Check(value))
    throw malformed('list of receipts', checkProvableReceipts.Errors(value))
  return value
}

export function parseHashes(value: unknown): readonly Hash[] {
  if (!checkHashes.Check(value)) throw malformed('list of hashes', checkHashes.Errors(value))
  return value.map(lower)
}

export function parseBytes(value: unknown): `0x${string}` {
  if (!checkBytes.Check(value)) throw malformed('byte string', checkBytes.Errors(value))
  return lower(value)
}

export function parseQuantity(value: unknown): number {
  if (!checkQuantity.Check(value)) throw malformed('quantity', checkQuantity.Errors(value))
  return Number(value)
}

function toSourceLog(log: Static<typeof rpcLog>, chainId: number): SourceLog {
  const time = log.blockTimestamp ? Number(log.blockTimestamp) : 0
  return {
    chainId,
    blockNumber: Number(log.blockNumber),
    blockHash: lower(log.blockHash),
    // Some servers send 0x0 instead of omitting it.
    timestamp: time === 0 ? null : time,
    txHash: lower(log.transactionHash),
    txIndex: Number(log.transactionIndex),
    logIndex: Number(log.logIndex),
    address: lower(log.address) as Address,
    topics: log.topics.map(lower) as Hash[],
    data: lower(log.data),
  }
}

function lower(text: string): `0x${string}` {
  return text.toLowerCase() as `0x${string}`
}

type Verdict = ReturnType<(typeof checkBytes)['Errors']>

function malformed(what: string, [, errors]: Verdict) {
  const [first] = errors
  return new RpcError(
    `the node returned a malformed ${what}: ${first?.instancePath} ${first?.message}`,
  )
}

/**
 * Returns logs in chain order, each once. Some chains number logs per transaction, so a log's place is its
 * block, transaction and log index.
 */
export function orderLogs<Each extends SourceLog>(logs: readonly Each[]): readonly Each[] {
  const isOrdered = (log: Each, index: number) => {
    const before = logs[index - 1]
    return before === undefined || comparePlaces(before, log) < 0
  }
  if (logs.every(isOrdered)) return logs
  const sorted = logs.toSorted(comparePlaces)
  return sorted.filter((log, index) => {
    const before = sorted[index - 1]
    if (before === undefined || nameLogPlace(before) !== nameLogPlace(log)) return true
    if (serializeLog(before) === serializeLog(log)) return false
    const message = `block ${log.blockNumber} ${log.blockHash}: the node returned two different logs with transaction index ${log.txIndex} and log index ${log.logIndex}`
    throw new RpcError(message, { lie: true })
  })
}

function comparePlaces(a: SourceLog, b: SourceLog): number {
  return a.blockNumber - b.blockNumber || a.txIndex - b.txIndex || a.logIndex - b.logIndex
}

function nameLogPlace({ blockHash, txIndex, logIndex }: SourceLog): string {
  return `${blockHash} ${txIndex} ${logIndex}`
}

function serializeLog({ address, topics, data, txHash }: SourceLog): string {
  return [txHash, address, ...topics, data].join(' ')
}

/** Listed in hashing order (Yellow Paper, 4.3). */
const FIELDS = [
  ['parentHash', encodeBytes],
  ['sha3Uncles', encodeBytes],
  ['miner', encodeBytes],
  ['stateRoot', encodeBytes],
  ['transactionsRoot', encodeBytes],
  ['receiptsRoot', encodeBytes],
  ['logsBloom', encodeBytes],
  ['difficulty', encodeInteger],
  ['number', encodeInteger],
  ['gasLimit', encodeInteger],
  ['gasUsed', encodeInteger],
  ['timestamp', encodeInteger],
  ['extraData', encodeBytes],
  ['mixHash', encodeBytes],
  ['nonce', encodeBytes],
] as const

/** Forks added these in this order; each requires all before it. */
const FORK_FIELDS = [
  // EIP-1559
  ['baseFeePerGas', encodeInteger],
  // EIP-4895
  ['withdrawalsRoot', encodeBytes],
  // EIP-4844
  ['blobGasUsed', encodeInteger],
  ['excessBlobGas', encodeInteger],
  // EIP-4788
  ['parentBeaconBlockRoot', encodeBytes],
  // EIP-7685
  ['requestsHash', encodeBytes],
  // EIP-7928
  ['blockAccessListHash', encodeBytes],
  // EIP-7843
  ['slotNumber', encodeInteger],
] as const

export function hashHeader(block: Readonly<Record<string, unknown>>): Hash | undefined {
  const encoded: `0x${string}`[] = []
  for (const [name, encode] of FIELDS) {
    const value = block[name]
    if (!isHex(value)) return undefined
    encoded.push(encode(value))
  }
  for (const [name, encode] of FORK_FIELDS) {
    const value = block[name]
    if (!isHex(value)) break
    encoded.push(encode(value))
  }
  return keccak256(fromHex(encoded, { as: 'Hex' }))
}

const ADDED_FIELDS = ['hash', 'size', 'totalDifficulty', 'transactions', 'uncles', 'withdrawals']

export function unknownFields(block: Readonly<Record<string, unknown>>): readonly string[] {
  const known = new Set<string>([...FIELDS, ...FORK_FIELDS].map(([name]) => name))
  return Object.keys(block).filter((name) => !known.has(name) && !ADDED_FIELDS.includes(name))
}

function isHex(value: unknown): value is `0x${string}` {
  return typeof value === 'string' && /^0x[0-9a-fA-F]*$/.test(value)
}

type Hex = `0x${string}`

/** A receipt as `eth_getBlockReceipts` returns it. */
export interface WireReceipt {
  readonly type?: string | null
  /** Absent before Byzantium, which used `root`. */
  readonly status?: string | null
  readonly root?: string | null
  readonly cumulativeGasUsed: string
  readonly logsBloom: string
  readonly logs: readonly {
    readonly address: string
    readonly topics: readonly string[]
    readonly data: string
  }[]
  readonly depositNonce?: string | null
  readonly depositReceiptVersion?: string | null
  readonly baseFee?: string | null
}

/**
 * EIP-658, EIP-2718. OP stack deposits add nonce and version since Canyon; Celo adds the base fee
 * in the fee currency (CIP-64) since it became a layer 2.
 */
export function encodeReceipt(receipt: WireReceipt): Hex {
  const { status, root, depositNonce, depositReceiptVersion, baseFee } = receipt
  const type = parseType(receipt)
  const fields = [
    isPresent(status) ? encodeInteger(status) : encodeBytes(root ?? '0x'),
    encodeInteger(receipt.cumulativeGasUsed),
    encodeBytes(receipt.logsBloom),
    receipt.logs.map(({ address, topics, data }) => [
      encodeBytes(address),
      topics.map(encodeBytes),
      encodeBytes(data),
    ]),
    // Before Canyon, nodes return a nonce that the trie lacks.
    ...(isPresent(depositReceiptVersion)
      ? [encodeInteger(depositNonce ?? '0x0'), encodeInteger(depositReceiptVersion)]
      : []),
    ...(type === CELO_FEE_CURRENCY && isPresent(baseFee) ? [encodeInteger(baseFee)] : []),
  ]
  const payload = fromHex(fields, { as: 'Hex' })
  return type === 0 ? payload : `0x${type.toString(16).padStart(2, '0')}${payload.slice(2)}`
}

const CELO_FEE_CURRENCY = 0x7b

/** Ethereum, Arbitrum (OffchainLabs/go-ethereum, `Receipts.EncodeIndex`) and OP stack deposits. */
const KNOWN_TYPES = [0, 1, 2, 3, 4, 0x64, 0x65, 0x66, 0x68, 0x69, 0x6a, 0x7e]

/** Others are encoded with the fields of Ethereum, which may or may not be right. */
export function isKnownType(receipt: WireReceipt): boolean {
  const type = parseType(receipt)
  // Nodes older than celo-org/op-geth#347 omit the base fee.
  return KNOWN_TYPES.includes(type) || (type === CELO_FEE_CURRENCY && isPresent(receipt.baseFee))
}

function parseType({ type }: WireReceipt): number {
  return Number(type ?? 0)
}

function isPresent(value: string | null | undefined): value is string {
  return typeof value === 'string'
}

function encodeInteger(quantity: string): Hex {
  const digits = quantity.slice(2).replace(/^0+/, '')
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`
}

function encodeBytes(text: string): Hex {
  return `0x${text.slice(2)}`
}

/** Yellow Paper, 4.3.1. */
export async function receiptsRoot(receipts: readonly WireReceipt[]): Promise<Hash> {
  const trie = await createMPT()
  for (const [index, receipt] of receipts.entries()) {
    const key = fromHex(encodeInteger(`0x${index.toString(16)}`), { as: 'Bytes' })
    await trie.put(key, toBytes(encodeReceipt(receipt)))
  }
  return `0x${Buffer.from(trie.root()).toString('hex')}`
}
