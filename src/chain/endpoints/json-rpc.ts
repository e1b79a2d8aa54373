import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as plain from 'node:http'
import * as secure from 'node:https'
import { urlToHttpOptions } from 'node:url'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { fromNumber } from 'ox/Hex'
import type { Hash } from '#base/address.ts'
import { allEnded, chunks } from '#base/async.ts'
import { isObject } from '#base/json.ts'
import { retryAfterMs } from '#base/time.ts'
import type { BlockTag, ChainSource, LogFilter, SourceLog } from '../chain-source.ts'
import { matches } from '../follow.ts'
import {
  orderLogs,
  parseBlock,
  parseBytes,
  parseLogs,
  parseQuantity,
  parseReceiptLogs,
} from '../parse-rpc.ts'
import { proveBlock } from '../proofs/prove-block.ts'
import { EndpointError, type FailureKind, RpcError } from '../rpc-error.ts'
import { type RefusalWords, readRefusal } from './refusals.ts'

export interface RpcCall {
  readonly method: string
  readonly params: readonly unknown[]
}

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
    askChainId: async () => parseQuantity(await ask('eth_chainId')),
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
    code: async (address, block) =>
      parseBytes(await ask('eth_getCode', address, toBlock(block ?? 'latest'))),
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

export interface SentCall extends RpcCall {
  readonly id: number
}

export function writeBody(calls: readonly SentCall[]): string {
  const texts = calls.map(({ id, method, params }) =>
    JSON.stringify({ jsonrpc: '2.0', id, method, params }),
  )
  return calls.length === 1 ? texts.join() : `[${texts.join(',')}]`
}

/** What `read` throws counts against the endpoint. */
type Exchange = (body: string, read: (answer: HttpAnswer) => void) => Promise<void>

const BATCH_SIZE_MAX = 50

interface PendingCall extends SentCall {
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** Sends the calls of one turn of the event loop together, as many as the node takes. */
export class JsonRpc {
  readonly #exchange: Exchange
  #queue: PendingCall[] = []
  #lastId = 1
  #batchSizeMax = BATCH_SIZE_MAX

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  call(call: RpcCall): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#queue.length === 0)
        setImmediate(() => {
          void this.#send(this.#queue)
          this.#queue = []
        })
      this.#lastId += 1
      this.#queue.push({ ...call, id: this.#lastId, resolve, reject })
    })
  }

  async #send(calls: readonly PendingCall[]): Promise<void> {
    await Promise.all(chunks(calls, this.#batchSizeMax).map((batch) => this.#sendBatch(batch)))
  }

  async #sendBatch(calls: readonly PendingCall[]): Promise<void> {
    try {
      await this.#exchange(writeBody(calls), (answer) => settle(calls, readAnswers(answer, calls)))
    } catch (error) {
      if (error instanceof BatchRefusal) {
        this.#batchSizeMax = Math.max(1, Math.floor(calls.length / 5))
        await this.#send(calls)
      } else for (const call of calls) call.reject(error)
    }
  }
}

type Outcome = EndpointError | { readonly result: unknown }

function settle(calls: readonly PendingCall[], outcomes: readonly Outcome[]): void {
  for (const [index, call] of calls.entries()) {
    const outcome = outcomes[index]
    if (outcome instanceof EndpointError) call.reject(outcome)
    else call.resolve(outcome?.result)
  }
  const failures = outcomes.filter((each) => each instanceof EndpointError)
  const failure = failures.find(({ kind }) => calls.length === 1 || OF_NODE.includes(kind))
  // Reaches the limiter and health; the calls have their answers.
  if (failure !== undefined) throw failure
}

/** They are about the node, and not about one call of a batch. */
const OF_NODE: readonly FailureKind[] = ['too-fast', 'malformed']

/** The node takes no batch, or only a shorter one. */
class BatchRefusal extends EndpointError {}

interface AskedCall extends Pick<SentCall, 'id' | 'method'> {
  readonly blocksAsked?: number
}

/** A gateway may refuse batches in plain text. */
const NO_BATCHES = [400, 405, 413, 422]

/** Matches answers to calls by id (JSON-RPC 2.0, 6). Throws EndpointError about all of them. */
function readAnswers(answer: HttpAnswer, calls: readonly AskedCall[]): readonly Outcome[] {
  const [first = { id: 0, method: 'batch' }] = calls
  const { status } = answer
  const isBatch = calls.length > 1
  if (isBatch && NO_BATCHES.includes(status)) throw new BatchRefusal('refused', `HTTP ${status}`)
  const value = parse(answer, first)
  if (isBatch && !Array.isArray(value)) throw refusalOfBatch(answer, value, first)
  const answerTo = findAnswers(value)
  return calls.map((call) => {
    try {
      return { result: takeResult(answerTo(call), answer, call) }
    } catch (error) {
      if (error instanceof EndpointError) return error
      throw error
    }
  })
}

/** A refusal may lack the id (JSON-RPC 2.0, 5). */
function findAnswers(value: unknown): (asked: AskedCall) => unknown {
  if (!Array.isArray(value)) return () => value
  const byId = new Map(value.map((each) => [isObject(each) ? each.id : undefined, each]))
  return ({ id }) => byId.get(id) ?? byId.get(null)
}

/** The block is null if unknown. Refusing the batch counts as refusing the logs. */
export function readLogsAndBlock(
  answer: HttpAnswer,
  asked: { readonly logs: AskedCall; readonly block: AskedCall },
): { readonly logs: unknown; readonly block: unknown } {
  const answerTo = findAnswers(parse(answer, asked.logs))
  const logs = takeResult(answerTo(asked.logs), answer, asked.logs)
  if (!Array.isArray(logs)) throw new EndpointError('malformed', 'the result is not a list')
  try {
    return { logs, block: takeResult(answerTo(asked.block), answer, asked.block) }
  } catch (error) {
    if (error instanceof EndpointError && error.kind === 'refused') return { logs, block: null }
    throw error
  }
}

function parse(answer: HttpAnswer, asked: AskedCall): unknown {
  const text = answer.body.toString('utf8')
  try {
    return JSON.parse(text)
  } catch (cause) {
    if (answer.status >= 300) throw toRefusal({ message: text.slice(0, 300) }, answer, asked)
    if (/^\s*[[{]/.test(text))
      throw new EndpointError('cut-off', 'the answer is cut off', { cause })
    throw new EndpointError('malformed', `not JSON: ${text.slice(0, 100)}`, { cause })
  }
}

function takeResult(value: unknown, answer: HttpAnswer, asked: AskedCall): unknown {
  const error = isObject(value) ? value.error : undefined
  if (error !== undefined && error !== null) throw toRefusal(readWords(error), answer, asked)
  if (answer.status < 200 || answer.status > 299) throw toRefusal({ message: '' }, answer, asked)
  if (!isObject(value)) throw new EndpointError('malformed', `no answer with id ${asked.id}`)
  if (value.id !== asked.id)
    throw new EndpointError('malformed', `asked with id ${asked.id}, got ${String(value.id)}`)
  if (!Object.hasOwn(value, 'result'))
    throw new EndpointError('malformed', 'an answer with neither result nor error')
  return value.result
}

type Words = Pick<RefusalWords, 'message' | 'code'>

function toRefusal(
  words: Words,
  { status, retryAfterMs }: HttpAnswer,
  { method, blocksAsked }: AskedCall,
): EndpointError {
  const { kind, ...limits } = readRefusal({ ...words, method, status, blocksAsked })
  const prefix = status === 200 ? '' : `HTTP ${status} `
  // Only logs have smaller ranges.
  const tooLarge = method === 'eth_getLogs' && (kind === 'too-large' || kind === 'timeout')
  const suffix = words.code === undefined ? '' : ` (code ${words.code})`
  const message = `${prefix}${words.message}${suffix}`.trim()
  return new EndpointError(kind, message, { ...limits, tooLarge, retryAfterMs })
}

function refusalOfBatch(answer: HttpAnswer, value: unknown, first: AskedCall): EndpointError {
  const error = isObject(value) ? value.error : undefined
  const words = readWords(error)
  const refusal = toRefusal(words, answer, { ...first, id: 0 })
  const isServerTrouble = refusal.kind === 'too-fast' || answer.status >= 500
  if (isServerTrouble && !/batch/i.test(words.message)) return refusal
  if (error === undefined && answer.status < 300 && !isObject(value))
    return new EndpointError('malformed', 'no answer to a batch')
  return new BatchRefusal('refused', words.message)
}

/** Some nodes put the refusal into `data`; a few repeat the request there. */
const DATA_CHARS_MAX = 300

function readWords(error: unknown): Words {
  if (!isObject(error)) return { message: String(error ?? '') }
  const { message, code, data } = error
  const details = typeof data === 'string' ? data : isObject(data) ? JSON.stringify(data) : ''
  const more = details === '' ? '' : ` ${details.slice(0, DATA_CHARS_MAX)}`
  return {
    message: `${typeof message === 'string' ? message : JSON.stringify(error).slice(0, 300)}${more}`,
    code: typeof code === 'number' ? code : undefined,
  }
}

interface PostOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Does not keep the process alive. */
  readonly background?: boolean
}

export interface HttpAnswer {
  readonly status: number
  readonly retryAfterMs: number | undefined
  readonly body: Buffer
}

/** Gets without a body. Follows no redirect. */
export type Post = (body: string | undefined, options: PostOptions) => Promise<HttpAnswer>

/** Above what may be in flight. */
const SOCKETS_MAX = 64

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json',
  'accept-encoding': 'gzip',
  'user-agent': 'sexton',
}

/** A node that asks for more, such as until a plan renews, is asked again anyway. */
const RETRY_AFTER_MAX_MS = 3_600_000

/** The limit is over ten times the target size. */
const BODY_BYTES_MAX = 64 * 1024 * 1024

/** Keeps connections alive. Credentials in the URL are never logged. */
export function openPost(url: string): Post {
  const target = urlToHttpOptions(new URL(url))
  const { Agent, request } = target.protocol === 'https:' ? secure : plain
  const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX })
  return async (body = '', { timeoutMs, signal: outer, background = false, ...more }) => {
    const method = body === '' ? 'GET' : 'POST'
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = outer === undefined ? timeout : AbortSignal.any([outer, timeout])
    const headers = { ...HEADERS, ...more.headers, 'content-length': Buffer.byteLength(body) }
    const send = () => {
      const sending = request({ ...target, method, agent, headers, signal })
      // Errors are thrown by `responseTo` or `readBody` instead.
      sending.on('error', () => undefined)
      if (background) sending.on('socket', (socket) => socket.unref())
      return sending.end(body)
    }
    try {
      const incoming = await responseTo(send, signal)
      const { statusCode: status = 0, headers: received } = incoming
      const wait = retryAfterMs(received['retry-after'], Date.now())
      const whole = await decompress(await readBody(incoming), received['content-encoding'])
      return { status, retryAfterMs: wait && Math.min(wait, RETRY_AFTER_MAX_MS), body: whole }
    } catch (error) {
      if (outer?.aborted) throw new EndpointError('aborted', 'cancelled by the caller')
      if (timeout.aborted) throw new EndpointError('timeout', `timed out after ${timeoutMs} ms`)
      throw error
    }
  }
}

async function responseTo(
  send: () => plain.ClientRequest,
  signal: AbortSignal,
): Promise<plain.IncomingMessage> {
  for (let isFirst = true; ; isFirst = false) {
    const request = send()
    try {
      const [incoming] = await once(request, 'response', { signal })
      return incoming
    } catch (cause) {
      // The server closed a kept connection before it read the request.
      if (isFirst && request.reusedSocket && !signal.aborted) continue
      throw new EndpointError('unreachable', describeFailure(cause) || 'no connection', { cause })
    }
  }
}

function describeFailure(error: unknown): string {
  return (error instanceof Error && error.message) || readCode(error)
}

function readCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

async function readBody(incoming: plain.IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  const declared = Number(incoming.headers['content-length'] ?? 0)
  try {
    if (declared <= BODY_BYTES_MAX)
      for await (const part of incoming) {
        length += part.length
        if (length > BODY_BYTES_MAX) break
        parts.push(part)
      }
  } catch (cause) {
    throw new EndpointError('cut-off', `the answer was cut off: ${describeFailure(cause)}`, {
      cause,
    })
  }
  if (Math.max(declared, length) <= BODY_BYTES_MAX) return Buffer.concat(parts, length)
  incoming.destroy()
  throw tooLarge()
}

function tooLarge(): EndpointError {
  return new EndpointError('too-large', `the answer exceeds ${BODY_BYTES_MAX} bytes`)
}

/** RFC 9110, 8.4. Off the main thread. */
async function decompress(body: Buffer, encoding = 'identity'): Promise<Buffer> {
  const name = encoding.trim().toLowerCase()
  if (name === 'identity' || name === '') return body
  if (name !== 'gzip') throw new EndpointError('malformed', `unknown content-encoding ${name}`)
  try {
    return await promisify(gunzip)(body, { maxOutputLength: BODY_BYTES_MAX })
  } catch (cause) {
    const code = readCode(cause)
    if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge()
    const kind = code === 'Z_BUF_ERROR' ? 'cut-off' : 'malformed'
    throw new EndpointError(kind, `the answer is not a complete gzip stream`, { cause })
  }
}
