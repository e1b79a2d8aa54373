import { chunks } from '#base/chunks.ts'
import { isObject } from '#base/json.ts'
import { EndpointError, type FailureKind } from '#chain/rpc-error.ts'
import { RESULT_LIST } from '../scan-logs.ts'
import type { RpcCall } from './call-source.ts'
import type { HttpAnswer } from './http-post.ts'
import { type RefusalWords, readRefusal } from './refusals.ts'

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

/** Throws EndpointError. */
export function readAnswer(answer: HttpAnswer, asked: AskedCall): unknown {
  return takeResult(parse(answer, asked), answer, asked)
}

/** A refusal may lack the id (JSON-RPC 2.0, 5). */
function findAnswers(value: unknown): (asked: AskedCall) => unknown {
  if (!Array.isArray(value)) return () => value
  const byId = new Map(value.map((each) => [isObject(each) ? each.id : undefined, each]))
  return ({ id }) => byId.get(id) ?? byId.get(null)
}

/**
 * Reads a batch of logs and block, around the list, which may be megabytes. Returns the block, null if unknown.
 * Refusing the batch counts as refusing the logs.
 */
export function readEnvelopes(
  answer: HttpAnswer,
  asked: { readonly logs: AskedCall; readonly block: AskedCall },
): unknown {
  const answerTo = findAnswers(parseFrame(answer.body) ?? parse(answer, asked.logs))
  const logs = takeResult(answerTo(asked.logs), answer, asked.logs)
  if (!Array.isArray(logs)) throw new EndpointError('malformed', 'the result is not a list')
  try {
    return takeResult(answerTo(asked.block), answer, asked.block)
  } catch (error) {
    if (error instanceof EndpointError && error.kind === 'refused') return null
    throw error
  }
}

const TAIL_BYTES_MAX = 512

function parseFrame(body: Buffer): unknown {
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
