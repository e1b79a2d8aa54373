import type { Hash } from '#base/address.ts'
import { isObject } from '#base/json.ts'
import type { LogFilter, SourceLog } from './chain-source.ts'
import { parseLogs } from './parse-rpc.ts'
import { RpcError } from './rpc-error.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const ZERO = 0x30
const LETTER_X = 0x78
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

const HASH_DIGITS = 64

/** Keyed by ASCII code; 255 for other characters. */
const NIBBLE: Uint8Array = Uint8Array.from({ length: 256 }, (_, code) => {
  const digit = Number.parseInt(String.fromCharCode(code), 16)
  return code < 128 && !Number.isNaN(digit) ? digit : 255
})

export const RESULT_LIST = '"result":['
const FALSE = Buffer.from('false', 'latin1')
const NULL = Buffer.from('null', 'latin1')

function isText(body: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let index = 0; index < text.length; index += 1)
    if (body[at + index] !== text[index]) return false
  return true
}

const TAIL_MAX = 200
const QUANTITY_DIGITS_MAX = 13

const HASH_TEXT = HASH_DIGITS + 4
const ADDRESS_DIGITS = 40

/** Keys in any order. Undefined on anything unknown (spaces, escapes, nesting, wrong order). */
export function scanLogs(
  chainId: number,
  filter: LogFilter,
  body: Buffer,
): readonly SourceLog[] | undefined {
  const start = body.indexOf(RESULT_LIST)
  if (start < 0) return undefined
  const scan = new Scan(chainId, toPairs(filter), body)
  return scan.list(start + RESULT_LIST.length) ? scan.logs : undefined
}

class Scan {
  readonly logs: SourceLog[] = []
  readonly #chainId: number
  readonly #pairs: Pairs
  readonly #body: Buffer
  #address = 0
  #topic0 = 0
  #txHash = 0
  #blockHash = 0
  #topic1 = 0
  #topic2 = 0
  #topic3 = 0
  #data = 0
  #dataEnd = 0
  #blockNumber = -1
  #txIndex = -1
  #logIndex = -1
  #timestamp = 0
  #lastBlock = -1
  #lastTx = -1
  #lastIndex = -1
  #lastHash = 0

  constructor(chainId: number, pairs: Pairs, body: Buffer) {
    this.#chainId = chainId
    this.#pairs = pairs
    this.#body = body
  }

  list(from: number): boolean {
    const body = this.#body
    let at = from
    if (body[at] === CLOSE_LIST) return this.#closed(at + 1)
    for (;;) {
      if (body[at] !== OPEN_OBJECT) return false
      at = this.#log(at + 1)
      if (at < 0 || !this.#keep()) return false
      if (body[at] === CLOSE_LIST) return this.#closed(at + 1)
      if (body[at] !== COMMA) return false
      at += 1
    }
  }

  #closed(at: number): boolean {
    const rest = this.#body.toString('latin1', at, at + TAIL_MAX)
    return /^\s*(,"(id|jsonrpc)":"?[\w.-]+"?)*\}\]?\s*$/.test(rest)
  }

  #log(from: number): number {
    const body = this.#body
    this.#address = this.#topic0 = this.#txHash = this.#blockHash = this.#data = 0
    this.#topic1 = this.#topic2 = this.#topic3 = this.#timestamp = 0
    this.#blockNumber = this.#txIndex = this.#logIndex = -1
    let at = from
    for (;;) {
      if (body[at] !== QUOTE) return -1
      let end = at + 1
      while (body[end] !== QUOTE) {
        if (body[end] === BACKSLASH || end - at > KEY_MAX) return -1
        end += 1
      }
      if (body[end + 1] !== COLON) return -1
      at = this.#field(body.toString('latin1', at + 1, end), end + 2)
      if (at < 0) return -1
      if (body[at] === CLOSE_OBJECT) return at + 1
      if (body[at] !== COMMA) return -1
      at += 1
    }
  }

  #field(name: string, at: number): number {
    const body = this.#body
    switch (name) {
      case 'data':
        return this.#bytes(at)
      case 'topics':
        return this.#topics(at)
      case 'address':
        return this.#contract(at)
      case 'removed':
        // The rest is for the JSON parser.
        return isText(body, at, FALSE) ? at + FALSE.length : -1
      case 'logIndex':
      case 'blockNumber':
        return this.#quantity(at, name)
      case 'transactionIndex':
        return this.#quantity(at, 'txIndex')
      case 'blockTimestamp':
        this.#timestamp = 0
        return isText(body, at, NULL) ? at + NULL.length : this.#quantity(at, 'timestamp')
      case 'blockHash':
        this.#blockHash = at + 3
        return this.#hash(at)
      case 'transactionHash':
        this.#txHash = at + 3
        return this.#hash(at)
      default:
        return this.#other(at)
    }
  }

  #contract(at: number): number {
    this.#address = at + 3
    const isWhole = this.#isHex(at) && this.#body[at + 3 + ADDRESS_DIGITS] === QUOTE
    return isWhole ? at + 4 + ADDRESS_DIGITS : -1
  }

  #isHex(at: number): boolean {
    const body = this.#body
    return body[at] === QUOTE && body[at + 1] === ZERO && body[at + 2] === LETTER_X
  }

  #hash(at: number): number {
    return this.#isHex(at) && this.#body[at + HASH_TEXT - 1] === QUOTE ? at + HASH_TEXT : -1
  }

  #quantity(at: number, name: 'blockNumber' | 'logIndex' | 'txIndex' | 'timestamp'): number {
    const body = this.#body
    if (!this.#isHex(at)) return -1
    let value = 0
    let end = at + 3
    for (;;) {
      const digit = NIBBLE[body[end] ?? 0] ?? 255
      if (digit > 15) break
      value = value * 16 + digit
      end += 1
    }
    const digits = end - at - 3
    if (digits === 0 || digits > QUANTITY_DIGITS_MAX || body[end] !== QUOTE) return -1
    if (name === 'blockNumber') this.#blockNumber = value
    else if (name === 'logIndex') this.#logIndex = value
    else if (name === 'txIndex') this.#txIndex = value
    else this.#timestamp = value
    return end + 1
  }

  #topics(from: number): number {
    const body = this.#body
    if (body[from] !== OPEN_LIST) return -1
    let at = from + 1
    if (body[at] === CLOSE_LIST) return -1
    // The last one wins, as in JSON.
    this.#topic1 = this.#topic2 = this.#topic3 = 0
    for (let topic = 0; topic < 4; topic += 1) {
      const end = this.#hash(at)
      if (end < 0) return -1
      if (topic === 0) this.#topic0 = at + 3
      else if (topic === 1) this.#topic1 = at + 3
      else if (topic === 2) this.#topic2 = at + 3
      else this.#topic3 = at + 3
      if (body[end] === CLOSE_LIST) return end + 1
      if (body[end] !== COMMA) return -1
      at = end + 1
    }
    return -1
  }

  #bytes(at: number): number {
    const body = this.#body
    if (!this.#isHex(at)) return -1
    const end = body.indexOf(QUOTE, at + 3)
    if (end < 0) return -1
    this.#data = at + 3
    this.#dataEnd = end
    return end + 1
  }

  #other(at: number): number {
    const body = this.#body
    if (body[at] === QUOTE) {
      const end = body.indexOf(QUOTE, at + 1)
      return end < 0 || body.subarray(at, end).includes(BACKSLASH) ? -1 : end + 1
    }
    for (let end = at; end < at + OTHER_MAX; end += 1) {
      const byte = body[end]
      if (byte === COMMA || byte === CLOSE_OBJECT) return end > at ? end : -1
      if (byte === OPEN_LIST || byte === OPEN_OBJECT || byte === QUOTE) return -1
    }
    return -1
  }

  #keep(): boolean {
    if (
      this.#address === 0 ||
      this.#topic0 === 0 ||
      this.#blockHash === 0 ||
      this.#txHash === 0 ||
      this.#data === 0 ||
      this.#blockNumber < this.#lastBlock ||
      this.#blockNumber < 0 ||
      this.#logIndex < 0 ||
      this.#txIndex < 0
    )
      return false
    if (this.#blockNumber === this.#lastBlock) {
      if (this.#txIndex < this.#lastTx) return false
      if (this.#txIndex === this.#lastTx && this.#logIndex <= this.#lastIndex) return false
      const [own, last] = [this.#blockHash, this.#lastHash]
      const body = this.#body
      if (body.compare(body, own, own + HASH_DIGITS, last, last + HASH_DIGITS) !== 0) return false
    }
    this.#lastBlock = this.#blockNumber
    this.#lastTx = this.#txIndex
    this.#lastIndex = this.#logIndex
    this.#lastHash = this.#blockHash
    const topic0 = this.#text(this.#topic0, HASH_DIGITS)
    const pair = this.#pairs.get(this.#text(this.#address, ADDRESS_DIGITS))?.get(topic0)
    if (pair === undefined) return true
    const before = this.logs.at(-1)
    const isSameBlock = before?.blockNumber === this.#blockNumber
    const topics: Hash[] = [pair.topic0]
    for (const at of [this.#topic1, this.#topic2, this.#topic3])
      if (at !== 0) topics.push(this.#text(at, HASH_DIGITS))
    this.logs.push({
      chainId: this.#chainId,
      blockNumber: this.#blockNumber,
      blockHash: isSameBlock ? before.blockHash : this.#text(this.#blockHash, HASH_DIGITS),
      timestamp: this.#timestamp === 0 ? null : this.#timestamp,
      txHash: this.#text(this.#txHash, HASH_DIGITS),
      txIndex: this.#txIndex,
      logIndex: this.#logIndex,
      address: pair.address,
      topics,
      data: this.#text(this.#data, this.#dataEnd - this.#data),
    })
    return true
  }

  #text(at: number, digits: number): Hash {
    const read = this.#body.toString('latin1', at - 2, at + digits)
    if (isBytes(read)) return read
    const text = read.toLowerCase()
    if (isBytes(text)) return text
    throw new RpcError(`the node returned a log with malformed hex: "${text}"`)
  }
}

const HEX = /^0x[0-9a-f]*$/

function isBytes(text: string): text is Hash {
  return text.length % 2 === 0 && HEX.test(text)
}

const KEY_MAX = 40
const OTHER_MAX = 40

/** The logs that the filter names, in chain order. Unknown shapes are parsed as JSON and validated. */
export function readLogsAnswer(input: {
  readonly id: number
  readonly chainId: number
  readonly filter: LogFilter
  readonly body: Buffer
  readonly from: number
  readonly to: number
}): readonly SourceLog[] {
  const { id, chainId, filter, body, from, to } = input
  const logs = scanLogs(chainId, filter, body) ?? namedBy(filter, parseAnswer(body, id, chainId))
  const [first, last] = [logs[0]?.blockNumber ?? from, logs.at(-1)?.blockNumber ?? to]
  if (logs.length > 0 && (first < from || last > to))
    throw new RpcError(`asked for logs of ${from} to ${to}, got ${first} to ${last}`)
  return logs
}

type Pair = NonNullable<LogFilter['pairs']>[number]

/** Keyed by address and topic. */
type Pairs = ReadonlyMap<string, ReadonlyMap<string, Pair>>

const known = new WeakMap<LogFilter, Pairs>()

function toPairs(filter: LogFilter): Pairs {
  const before = known.get(filter)
  if (before !== undefined) return before
  const byAddress = Map.groupBy(filter.pairs ?? [], ({ address }) => address)
  const pairs = new Map(
    [...byAddress].map(([address, own]) => [
      address as string,
      new Map<string, Pair>(own.map((pair) => [pair.topic0, pair])),
    ]),
  )
  known.set(filter, pairs)
  return pairs
}

/** Those that the filter names. Throws RpcError if a block has two hashes. */
export function namedBy(filter: LogFilter, logs: readonly SourceLog[]): readonly SourceLog[] {
  for (const [index, { blockNumber, blockHash }] of logs.entries()) {
    const before = logs[index - 1]
    if (before?.blockNumber === blockNumber && before.blockHash !== blockHash)
      throw new RpcError('the logs of one block name two block hashes')
  }
  const pairs = toPairs(filter)
  return logs.filter(({ address, topics }) => pairs.get(address)?.has(topics[0] ?? ''))
}

function parseAnswer(body: Buffer, id: number, chainId: number): readonly SourceLog[] {
  const answers = [parseJson(body)].flat()
  const envelope = answers.find((each) => isObject(each) && each.id === id)
  if (!isObject(envelope) || !Array.isArray(envelope.result))
    throw new RpcError('the answer has no list of logs')
  return parseLogs(envelope.result, chainId)
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch (cause) {
    throw new RpcError('the answer is not JSON or was cut off', { cause, tooLarge: true })
  }
}
