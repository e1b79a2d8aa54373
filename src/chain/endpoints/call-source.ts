import assert from 'node:assert/strict'
import { fromNumber } from 'ox/Hex'
import type { Hash } from '#base/address.ts'
import { allEnded } from '#base/async.ts'
import { chunks } from '#base/chunks.ts'
import { isObject } from '#base/json.ts'
import { RESULT_LIST } from '#chain/columns/scan-logs.ts'
import { readRefusal } from '#chain/endpoints/refusals.ts'
import type { BlockTag, ChainSource, SourceLog } from '../chain-source.ts'
import { matches } from '../follow.ts'
import type { LogFilter } from '../log-filter.ts'
import {
  orderLogs,
  parseBlock,
  parseBytes,
  parseLogs,
  parseQuantity,
  parseReceiptLogs,
} from '../parse-rpc.ts'
import { proveBlock } from '../proofs/prove-block.ts'
import { EndpointError, RpcError } from '../rpc-error.ts'
import type { HttpAnswer } from './http-post.ts'

type Request = (call: RpcCall) => Promise<unknown>

export interface CallSource
  extends Pick<
    ChainSource,
    'askChainId' | 'header' | 'logsInRange' | 'logsInBlock' | 'provenBlock' | 'code' | 'call'
  > {
  /** Whether the node takes as many addresses, as far as it is known. */
  takes(filter: LogFilter): boolean
  /** Throws EndpointError `no-method` without block receipts. */
  receiptLogs(hash: Hash): Promise<readonly SourceLog[]>
}

export function callSource(
  chainId: number,
  request: Request,
  isRefusal: (error: unknown) => boolean = isRefusalOfReceipts,
): CallSource {
  const ask = (method: string, ...params: unknown[]) => request({ method, params })
  let addressesMax = Number.POSITIVE_INFINITY
  const takes = ({ addresses }: LogFilter) => (addresses?.length ?? 0) <= addressesMax
  /** Asks for the addresses in groups where the node takes no more. */
  const readLogs = async (filter: LogFilter, place: object): Promise<readonly SourceLog[]> => {
    const { addresses } = filter
    if (addresses !== null && !takes(filter)) {
      const groups = chunks(addresses, addressesMax)
      const read = groups.map((group) => readLogs({ ...filter, addresses: group }, place))
      return orderLogs((await allEnded(read)).flat())
    }
    try {
      return parseLogs(await ask('eth_getLogs', { ...wireFilter(filter), ...place }), chainId)
    } catch (error) {
      const asked = addresses?.length ?? 0
      if (!(error instanceof EndpointError) || error.addressesMax === undefined || asked < 2)
        throw error
      const { addressesMax: told } = error
      addressesMax = Math.min(addressesMax, told < asked ? Math.max(1, told) : asked >> 1)
      return readLogs(filter, place)
    }
  }
  /** A block may have more logs than the node returns, but its receipts have them. */
  const readBlock = async (filter: LogFilter, hash: Hash, refusal: unknown) => {
    if (!(refusal instanceof EndpointError) || refusal.kind !== 'too-large') throw refusal
    const logs = await source.receiptLogs(hash).catch(() => Promise.reject(refusal))
    return logs.filter((log) => matches(filter, log))
  }
  const source: CallSource = {
    takes,
    async askChainId() {
      return parseQuantity(await ask('eth_chainId'))
    },
    async header(block) {
      const header = parseBlock(await ask('eth_getBlockByNumber', toBlock(block), false))
      if (header !== undefined && typeof block === 'number' && header.number !== block)
        throw new RpcError(`asked for block ${block}, got ${header.number}`)
      return header
    },
    async logsInRange(filter, from, to) {
      try {
        return await readLogs(filter, toRange({ from, to }))
      } catch (error) {
        const block = from === to ? await source.header(from) : undefined
        if (block === undefined) throw error
        return readBlock(filter, block.hash, error)
      }
    },
    logsInBlock: (filter, blockHash) =>
      readLogs(filter, { blockHash }).catch((error: unknown) =>
        readBlock(filter, blockHash, error),
      ),
    async receiptLogs(hash) {
      const value = await ask('eth_getBlockReceipts', hash)
      if (value === null) throw new RpcError(`the node does not know the receipts of block ${hash}`)
      return parseReceiptLogs(value, chainId)
    },
    provenBlock(ref, wants) {
      return proveBlock({ chainId, ask, isRefusal }, ref, wants)
    },
    async code(address) {
      return parseBytes(await ask('eth_getCode', address, 'latest'))
    },
    async call(to, data, block) {
      return parseBytes(await ask('eth_call', { to, data }, toBlock(block ?? 'latest')))
    },
  }
  return source
}

function isRefusalOfReceipts(error: unknown): boolean {
  const kinds = ['no-method', 'refused', 'too-large']
  return error instanceof EndpointError && kinds.includes(error.kind)
}

export function rangeFilter(
  filter: LogFilter,
  range: { readonly from: number; readonly to: number },
): object {
  return { ...wireFilter(filter), ...toRange(range) }
}

function toRange({ from, to }: { readonly from: number; readonly to: number }) {
  return { fromBlock: fromNumber(from), toBlock: fromNumber(to) }
}

function toBlock(block: number | BlockTag): string {
  return typeof block === 'number' ? fromNumber(block) : block
}

function wireFilter(filter: LogFilter): object {
  const { addresses, topics } = filter
  // Nodes would take an empty list as any contract.
  assert(addresses?.length !== 0, 'a filter names no contract')
  return addresses === null ? { topics } : { address: addresses, topics }
}

export interface RpcCall {
  readonly method: string
  readonly params: readonly unknown[]
}

/** Errors of `read` count against the endpoint. */
type Exchange = <T>(
  body: string,
  how: { readonly timeoutMs: number; readonly background: boolean },
  read: (answer: HttpAnswer) => T,
) => Promise<T>

const CALL_TIMEOUT_MS = 10_000

const BATCH_SIZE_MAX = 50

interface PendingCall extends RpcCall {
  readonly id: number
  readonly background: boolean
  resolve(value: unknown): void
  reject(error: unknown): void
}

export class JsonRpc {
  readonly #exchange: Exchange
  #queue: PendingCall[] = []
  #isFlushing = false
  #nextId = 1
  #batchSizeMax = BATCH_SIZE_MAX

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  call(call: RpcCall, how: { readonly background?: boolean } = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = this.#takeId()
      this.#queue.push({ ...call, id, background: how.background ?? false, resolve, reject })
      if (this.#isFlushing) return
      this.#isFlushing = true
      setImmediate(() => {
        this.#isFlushing = false
        this.#flush()
      })
    })
  }

  #takeId(): number {
    this.#nextId += 1
    return this.#nextId
  }

  #flush(): void {
    const calls = this.#queue
    this.#queue = []
    const ahead = calls.filter((call) => !call.background)
    const behind = calls.filter((call) => call.background)
    for (const kind of [ahead, behind])
      while (kind.length > 0) void this.#send(kind.splice(0, this.#batchSizeMax))
  }

  async #send(calls: readonly PendingCall[]): Promise<void> {
    const [first] = calls
    if (first === undefined) return
    const background = first.background
    const how = { timeoutMs: CALL_TIMEOUT_MS, background }
    try {
      if (calls.length === 1)
        first.resolve(
          await this.#exchange(bodyOf(first), how, (answer) => readAnswer(answer, first)),
        )
      else await this.#sendBatch(how, calls)
    } catch (error) {
      for (const call of calls) call.reject(error)
    }
  }

  async #sendBatch(how: Parameters<Exchange>[1], calls: readonly PendingCall[]): Promise<void> {
    const refused = await this.#exchange(`[${calls.map(bodyOf).join(',')}]`, how, (answer) => {
      const answers = readAnswers(answer, calls)
      if ('batchSizeMax' in answers) return answers
      let slowDown: EndpointError | undefined
      for (const [index, call] of calls.entries()) {
        const outcome = answers.outcomes[index]
        if (outcome instanceof EndpointError) {
          call.reject(outcome)
          if (outcome.kind === 'too-fast' || outcome.kind === 'malformed') slowDown = outcome
        } else call.resolve(outcome?.result)
      }
      // Reaches the limiter and health; the calls have their answers.
      if (slowDown !== undefined) throw slowDown
      return undefined
    })
    if (refused === undefined) return
    this.#batchSizeMax = Math.max(1, Math.min(refused.batchSizeMax, calls.length - 1))
    const rest = [...calls]
    while (rest.length > 0) await this.#send(rest.splice(0, this.#batchSizeMax))
  }
}

function bodyOf({ id, method, params }: RpcCall & { readonly id: number }): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

export interface SentRequest {
  readonly id: number
  readonly method: string
  readonly blocksAsked?: number
}

export function readAnswer(answer: HttpAnswer, asked: SentRequest): unknown {
  return resultOf(parse(answer, asked), { answer, asked })
}

type BatchAnswer =
  | { readonly outcomes: readonly (EndpointError | { readonly result: unknown })[] }
  | { readonly batchSizeMax: number }

/** Matches answers to calls by id (JSON-RPC 2.0, 6). */
function readAnswers(answer: HttpAnswer, asked: readonly SentRequest[]): BatchAnswer {
  const [first] = asked
  const method = first?.method ?? 'batch'
  const status = answer.status
  // A gateway may refuse batches in plain text.
  if (status === 413) return { batchSizeMax: Math.max(1, Math.floor(asked.length / 2)) }
  if (status === 400 || status === 405 || status === 422) return readBatchText(answer)
  const value = parse(answer, { id: 0, method })
  if (!Array.isArray(value)) return readBatchRefusal(answer, value, method)
  const answerTo = findById(value)
  const outcomes = asked.map((each) => {
    try {
      return { result: resultOf(answerTo(each), { answer, asked: each }) }
    } catch (error) {
      if (error instanceof EndpointError) return error
      throw error
    }
  })
  return { outcomes }
}

/** A refusal may lack the id (JSON-RPC 2.0, 5). */
function findById(answers: readonly unknown[]): (asked: SentRequest) => unknown {
  const byId = new Map(answers.map((each) => [isObject(each) ? each.id : undefined, each]))
  return ({ id }) => byId.get(id) ?? byId.get(null)
}

/**
 * Reads a batch of logs and block, around the list, which may be megabytes. Returns the block, null if unknown.
 * Refusing the batch counts as refusing the logs.
 */
export function readEnvelopes(
  answer: HttpAnswer,
  asked: { readonly logs: SentRequest; readonly block: SentRequest },
): unknown {
  const value = frameOf(answer.body) ?? parse(answer, asked.logs)
  const answerTo = Array.isArray(value) ? findById(value) : () => value
  const resultFor = (each: SentRequest) => resultOf(answerTo(each), { answer, asked: each })
  requireList(resultFor(asked.logs))
  try {
    return resultFor(asked.block)
  } catch (error) {
    if (error instanceof EndpointError && error.kind === 'refused') return null
    throw error
  }
}

function requireList(value: unknown): void {
  if (!Array.isArray(value)) throw new EndpointError('malformed', 'the result is not a list')
}

const TAIL_BYTES_MAX = 512

function frameOf(body: Buffer): unknown {
  const start = body.indexOf(RESULT_LIST)
  if (start < 0) return undefined
  const head = body.toString('latin1', 0, start)
  const tail = body.toString('latin1', Math.max(0, body.length - TAIL_BYTES_MAX))
  const last = tail.lastIndexOf(']')
  const end = head.startsWith('[') ? tail.lastIndexOf(']', last - 1) : last
  if (end < 0) return undefined
  try {
    return JSON.parse(`${head}${RESULT_LIST}${tail.slice(end)}`)
  } catch {
    return undefined
  }
}

function parse(answer: HttpAnswer, asked: SentRequest): unknown {
  const text = answer.body.toString('utf8')
  try {
    return JSON.parse(text)
  } catch (error) {
    throw notJson(answer, { asked, text, cause: error })
  }
}

function notJson(
  answer: HttpAnswer,
  input: { readonly asked: SentRequest; readonly text: string; readonly cause: unknown },
): EndpointError {
  const { asked, text, cause } = input
  const start = text.trimStart().slice(0, 1)
  const isJsonBegun = start === '{' || start === '['
  if (answer.status < 300 && isJsonBegun)
    return new EndpointError('cut-off', 'the answer is cut off', { cause })
  if (answer.status < 300)
    return new EndpointError('malformed', `not JSON: ${text.slice(0, 100)}`, { cause })
  return refusalOf({ message: text.slice(0, 300), code: undefined }, { answer, asked })
}

function resultOf(
  value: unknown,
  context: { readonly answer: HttpAnswer; readonly asked: SentRequest },
): unknown {
  const { answer, asked } = context
  const error = isObject(value) ? value.error : undefined
  if (error !== undefined && error !== null) throw refusalOf(wordsOf(error), context)
  if (answer.status < 200 || answer.status > 299)
    throw refusalOf({ message: '', code: undefined }, context)
  if (!isObject(value)) throw new EndpointError('malformed', `no answer with id ${asked.id}`)
  if (value.id !== asked.id)
    throw new EndpointError('malformed', `asked with id ${asked.id}, got ${String(value.id)}`)
  if (!Object.hasOwn(value, 'result'))
    throw new EndpointError('malformed', 'an answer with neither result nor error')
  return value.result
}

function refusalOf(
  words: { readonly message: string; readonly code: number | undefined },
  context: { readonly answer: HttpAnswer; readonly asked: SentRequest },
): EndpointError {
  const { method, blocksAsked } = context.asked
  const { status, retryAfterMs } = context.answer
  const { kind, ...limits } = readRefusal({ ...words, method, status, blocksAsked })
  const prefix = status === 200 ? '' : `HTTP ${status} `
  // Only logs have smaller ranges.
  const tooLarge = method === 'eth_getLogs' && (kind === 'too-large' || kind === 'timeout')
  const suffix = words.code === undefined ? '' : ` (code ${words.code})`
  return new EndpointError(kind, `${prefix}${words.message}${suffix}`.trim(), {
    ...limits,
    tooLarge,
    retryAfterMs,
  })
}

function readBatchText(answer: HttpAnswer): BatchAnswer {
  const text = answer.body.toString('utf8', 0, 1_000)
  return { batchSizeMax: batchSizeIn(text) }
}

function batchSizeIn(text: string): number {
  return Math.max(1, Number(/(?:max|limit|size|most)\D{0,30}(\d{1,4})\b/i.exec(text)?.[1] ?? 1))
}

function readBatchRefusal(answer: HttpAnswer, value: unknown, method: string): BatchAnswer {
  const error = isObject(value) ? value.error : undefined
  const words = wordsOf(error)
  const context = { answer, asked: { id: 0, method } }
  const refusal = refusalOf(words, context)
  const isServerTrouble = refusal.kind === 'too-fast' || answer.status >= 500
  if (isServerTrouble && !/batch/i.test(words.message)) throw refusal
  if (error === undefined && answer.status < 300 && !isObject(value))
    throw new EndpointError('malformed', 'no answer to a batch')
  return { batchSizeMax: batchSizeIn(words.message) }
}

/** Some nodes put the refusal into `data`; a few repeat the request there. */
const DATA_CHARS_MAX = 300

function wordsOf(error: unknown): { readonly message: string; readonly code: number | undefined } {
  if (!isObject(error)) return { message: String(error ?? ''), code: undefined }
  const { message, code, data } = error
  const details = typeof data === 'string' ? data : isObject(data) ? JSON.stringify(data) : ''
  const more = details === '' ? '' : ` ${details.slice(0, DATA_CHARS_MAX)}`
  return {
    message: `${typeof message === 'string' ? message : JSON.stringify(error).slice(0, 300)}${more}`,
    code: typeof code === 'number' ? code : undefined,
  }
}
