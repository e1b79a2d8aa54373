import type { Static } from 'typebox'
import { Compile } from 'typebox/schema'
import type { Address, Hash } from '#domain/address.ts'
import type { BlockHeader } from '#domain/chain.ts'
import type { SourceLog } from './chain-source.ts'
import { hashHeader } from './proofs/hash-block.ts'
import { RpcError } from './rpc-error.ts'

const text = (pattern: string) => ({ type: 'string', pattern }) as const

const quantity = text('^0x[0-9a-fA-F]{1,14}$')
const bigQuantity = text('^0x[0-9a-fA-F]{1,64}$')
const hash = text('^0x[0-9a-fA-F]{64}$')
const bytes = text('^0x([0-9a-fA-F]{2})*$')

const nullable = <const Schema>(schema: Schema) => ({ anyOf: [schema, { type: 'null' }] }) as const

const checkBlock = Compile({
  type: 'object',
  required: ['number', 'hash', 'parentHash', 'timestamp', 'logsBloom'],
  properties: {
    number: quantity,
    hash,
    parentHash: hash,
    timestamp: quantity,
    logsBloom: text('^0x[0-9a-fA-F]{512}$'),
  },
})

const rpcLog = {
  type: 'object',
  required: [
    'address',
    'topics',
    'data',
    'blockNumber',
    'blockHash',
    'transactionHash',
    'transactionIndex',
    'logIndex',
  ],
  properties: {
    address: text('^0x[0-9a-fA-F]{40}$'),
    topics: { type: 'array', items: hash, maxItems: 4 },
    data: bytes,
    blockNumber: quantity,
    blockHash: hash,
    transactionHash: hash,
    transactionIndex: quantity,
    logIndex: quantity,
    // Some servers send a number.
    blockTimestamp: { anyOf: [quantity, { type: 'integer', minimum: 0 }, { type: 'null' }] },
    removed: { type: 'boolean' },
  },
} as const

const rpcReceipt = {
  type: 'object',
  required: ['logs'],
  properties: { logs: { type: 'array', items: rpcLog } },
} as const

const rpcProvableReceipt = {
  type: 'object',
  required: ['cumulativeGasUsed', 'logsBloom', 'logs', 'transactionHash', 'transactionIndex'],
  properties: {
    transactionHash: hash,
    transactionIndex: quantity,
    cumulativeGasUsed: quantity,
    type: nullable(quantity),
    status: nullable(quantity),
    root: nullable(hash),
    depositNonce: nullable(quantity),
    depositReceiptVersion: nullable(quantity),
    baseFee: nullable(bigQuantity),
    logsBloom: text('^0x[0-9a-fA-F]{512}$'),
    logs: {
      type: 'array',
      items: {
        type: 'object',
        required: ['address', 'topics', 'data'],
        properties: {
          address: text('^0x[0-9a-fA-F]{40}$'),
          topics: { type: 'array', items: hash, maxItems: 4 },
          data: bytes,
          logIndex: nullable(quantity),
        },
      },
    },
  },
} as const

const checkLogs = Compile({ type: 'array', items: rpcLog })
const checkProvableReceipts = Compile({ type: 'array', items: rpcProvableReceipt })
const checkHashes = Compile({ type: 'array', items: hash })
const checkReceipts = Compile({ type: 'array', items: rpcReceipt })
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
