import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Hash } from '#base/address.ts'
import type { SourceLog } from './chain-source.ts'
import { parseLogs } from './parse-rpc.ts'
import { RpcError } from './rpc-error.ts'
import { readLogsAnswer, scanLogs } from './scan-logs.ts'

const token = `0x${'ab'.repeat(20)}` as const
const other = `0x${'cd'.repeat(20)}` as const
const transfer = `0x${'d1'.repeat(32)}` as const
const claim = `0x${'c1'.repeat(32)}` as const
const pairs = [
  { address: token, topic0: transfer },
  { address: other, topic0: claim },
  { address: token, topic0: claim },
]
const filter = { addresses: null, topics: [], pairs }
const chainId = 8453

interface Wire extends Record<string, unknown> {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  readonly blockNumber: string
  readonly blockHash: string
  readonly logIndex: string
}

const word = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(hex)
const event = fc.constantFrom([token, transfer], [other, claim], [token, claim], [other, transfer])

const draft = fc.record({
  event,
  topics: fc.array(word, { maxLength: 3 }),
  data: fc.uint8Array({ maxLength: 100 }).map(hex),
  isNewBlock: fc.boolean(),
  isNewTransaction: fc.boolean(),
  hash: word,
})

/**
 * Logs of a chain, oldest first: each block has one hash, and log indexes rise in the block or, on
 * some chains, in the transaction.
 */
const logs: fc.Arbitrary<readonly Wire[]> = fc
  .tuple(fc.array(draft, { maxLength: 30 }), fc.boolean())
  .map(([drafts, isPerTransaction]) => {
    let block = 1_000
    let blockHash = `0x${'00'.repeat(32)}`
    let txIndex = 0
    let logIndex = 0
    return drafts.map((draft, index) => {
      logIndex += 1
      if (index === 0 || draft.isNewBlock) {
        block += 1 + (index % 3)
        blockHash = draft.hash
        txIndex = logIndex = 0
      } else if (draft.isNewTransaction) {
        txIndex += 1
        if (isPerTransaction) logIndex = 0
      }
      return {
        address: draft.event[0] ?? token,
        topics: [draft.event[1] ?? transfer, ...draft.topics],
        data: draft.data,
        blockNumber: quantity(block),
        blockHash,
        blockTimestamp: quantity(1_700_000_000 + block),
        transactionHash: draft.hash,
        transactionIndex: quantity(txIndex),
        logIndex: quantity(logIndex),
        removed: false,
      }
    })
  })

function hex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`
}

function quantity(value: number): string {
  return `0x${value.toString(16)}`
}

function bodyOf(list: readonly object[], text = JSON.stringify(list)): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":7,"result":${text}}`)
}

function read(body: Buffer): readonly SourceLog[] {
  return readLogsAnswer({ id: 7, chainId, filter, body, from: 0, to: 1_000_000 })
}

/** What the plain way reads: parsed as JSON and checked field by field. */
function plainly(list: readonly Wire[]) {
  return parseLogs(list, chainId).filter(({ address, topics }) =>
    pairs.some((pair) => pair.address === address && pair.topic0 === topics[0]),
  )
}

describe('logs read from bytes', () => {
  test('are those that parsing the JSON gives, whatever the events', () =>
    fc.assert(
      fc.property(logs, (list) => {
        const body = bodyOf(list)
        assert.ok(scanLogs(chainId, filter, body), 'read straight from the bytes')
        assert.deepEqual(read(body), plainly(list))
      }),
    ))

  test('may have their keys in any order, and others beside them', () =>
    fc.assert(
      fc.property(logs, fc.infiniteStream(fc.nat()), (list, chance) => {
        const shuffled = list.map((log) => {
          const entries = Object.entries({ ...log, extra: 'x', l1Fee: 12, type: null, ok: true })
          const keys = entries.map((entry) => ({ entry, at: chance.next().value }))
          return Object.fromEntries(keys.sort((a, b) => a.at - b.at).map(({ entry }) => entry))
        })
        const body = bodyOf(shuffled)
        assert.ok(scanLogs(chainId, filter, body), 'read straight from the bytes')
        assert.deepEqual(read(body), plainly(list))
      }),
    ))

  test('with spaces, in another order or twice are read the plain way, each once', () =>
    fc.assert(
      fc.property(logs, (list) => {
        const mixed = [...list.toReversed(), ...list.slice(0, 3)]
        const body = bodyOf(mixed, JSON.stringify(mixed, null, 2))
        assert.deepEqual(read(body), plainly(list))
      }),
    ))
})

describe('an answer that cannot be true is refused:', () => {
  const [first, second] = sample()
  const refused: Readonly<Record<string, readonly [Buffer, RegExp]>> = {
    'cut off in the middle': [bodyOf([first]).subarray(0, 300), /cut off/],
    'cut off behind the last log': [bodyOf([first]).subarray(0, -2), /cut off/],
    'no list': [Buffer.from('{"jsonrpc":"2.0","id":7,"result":null}'), /no list of logs/],
    'two hashes for one block': [
      bodyOf([first, { ...second, blockNumber: first.blockNumber }]),
      /two block hashes/,
    ],
    'two different logs at one place': [
      bodyOf([first, { ...first, data: `0x${'00'.repeat(31)}06` }]),
      /block 1001 0xee\w+: .* two different logs with transaction index 1 and log index 1/,
    ],
    'a log without its hash': [bodyOf([{ ...first, blockHash: undefined }]), /malformed/],
    'a hash of letters that are no digits': [
      bodyOf([{ ...first, transactionHash: `0x${'zz'.repeat(32)}` }]),
      /as bytes|malformed/,
    ],
    'data of half a byte': [bodyOf([{ ...first, data: '0xabc' }]), /as bytes|malformed/],
  }
  for (const [what, [body, words]] of Object.entries(refused))
    test(what, () => {
      assert.throws(
        () => read(body),
        (error) => error instanceof RpcError && words.test(error.message),
      )
    })

  test('logs of blocks that were not asked for', () => {
    assert.throws(
      () => readLogsAnswer({ id: 7, chainId, filter, body: bodyOf([first]), from: 0, to: 1_000 }),
      /asked for logs of 0 to 1000, got 1001 to 1001/,
    )
  })
})

function sample(): readonly [Wire, Wire] {
  const log = (block: number, byte: string): Wire => ({
    address: token,
    topics: [transfer, `0x${'00'.repeat(12)}${'11'.repeat(20)}` as Hash],
    data: `0x${'00'.repeat(31)}05`,
    blockNumber: quantity(block),
    blockHash: `0x${byte.repeat(32)}`,
    blockTimestamp: quantity(1_700_000_000 + block),
    transactionHash: `0x${byte.repeat(32)}`,
    transactionIndex: '0x1',
    logIndex: quantity(block % 10),
    removed: false,
  })
  return [log(1_001, 'ee'), log(1_002, 'ff')]
}
