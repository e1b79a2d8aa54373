import { Compile } from 'typebox/schema'
import type { SourceLog } from '../chain-source.ts'
import { parseLogs } from '../parse-rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { LogColumns } from './log-columns.ts'
import type { PairTable } from './pair-table.ts'
import { scanLogs } from './scan-logs.ts'

const checkEnvelope = Compile({
  type: 'object',
  required: ['result'],
  properties: { id: {}, result: { type: 'array', items: {} } },
})

/** Unknown shapes are parsed as JSON, validated, sorted and scanned again. */
export function readLogsAnswer(input: {
  readonly id: number
  readonly chainId: number
  readonly table: PairTable
  readonly body: Uint8Array
  readonly from: number
  readonly to: number
}): LogColumns {
  const { id, chainId, table, body, from, to } = input
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const columns =
    scanLogs(chainId, table, buffer) ?? scanLogs(chainId, table, inPlainForm(buffer, id, chainId))
  if (columns === undefined) throw new RpcError('the logs of one block name two block hashes')
  const first = columns.blockNumber[0] ?? from
  const last = columns.blockNumber[columns.count - 1] ?? to
  if (columns.count > 0 && (first < from || last > to))
    throw new RpcError(`asked for logs of ${from} to ${to}, got ${first} to ${last}`)
  return columns
}

/** As if a node had sent them. The body is none of Node's pool, so that it may go to another thread. */
export function columnsOf(
  chainId: number,
  table: PairTable,
  logs: readonly SourceLog[],
): LogColumns {
  const text = JSON.stringify({ result: logs.map(toWire) })
  const body = Buffer.alloc(text.length, text, 'latin1')
  const columns = scanLogs(chainId, table, body)
  if (columns === undefined) throw new RpcError('the logs of one block name two block hashes')
  return columns
}

function inPlainForm(body: Buffer, id: number, chainId: number): Buffer {
  const answer = parseJson(body)
  const answers: readonly unknown[] = Array.isArray(answer) ? answer : [answer]
  const envelope = answers.find((each) => checkEnvelope.Check(each) && each.id === id)
  if (!checkEnvelope.Check(envelope)) throw new RpcError('the answer has no list of logs')
  const logs = parseLogs(envelope.result, chainId)
  return Buffer.from(JSON.stringify({ result: logs.map(toWire) }), 'latin1')
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch (cause) {
    throw new RpcError('the answer is not JSON or was cut off', { cause, tooLarge: true })
  }
}

function toWire(log: SourceLog) {
  return {
    address: log.address,
    topics: log.topics,
    data: log.data,
    blockNumber: `0x${log.blockNumber.toString(16)}`,
    blockHash: log.blockHash,
    blockTimestamp: `0x${(log.timestamp ?? 0).toString(16)}`,
    transactionHash: log.txHash,
    transactionIndex: `0x${log.txIndex.toString(16)}`,
    logIndex: `0x${log.logIndex.toString(16)}`,
  }
}
