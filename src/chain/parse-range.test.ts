import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Hash } from '#base/address.ts'
import type { SourceLog } from './chain-source.ts'
import { parseRange } from './parse-rpc.ts'
import { RpcError } from './rpc-error.ts'

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

function read(list: unknown, to = 1_000_000): readonly SourceLog[] {
  return parseRange(list, { chainId, filter, from: 0, to })
}

test('of the logs of a range those are read that the filter names, in order and each once', () =>
  fc.assert(
    fc.property(logs, (list) => {
      const named = list.filter(({ address, topics }) =>
        pairs.some((pair) => pair.address === address && pair.topic0 === topics[0]),
      )
      const shown = read([...list.toReversed(), ...list.slice(0, 3)]).map((log) => [
        ...[log.address, quantity(log.blockNumber), log.blockHash, log.txHash],
        ...[quantity(log.txIndex), quantity(log.logIndex), log.topics, log.data],
      ])
      assert.deepEqual(
        shown,
        named.map((log) => [
          ...[log.address, log.blockNumber, log.blockHash, log.transactionHash],
          ...[log.transactionIndex, log.logIndex, log.topics, log.data],
        ]),
      )
    }),
  ))

describe('an answer that cannot be true is refused:', () => {
  const [first, second] = sample()
  const refused: Readonly<Record<string, readonly [unknown, RegExp]>> = {
    'no list': [null, /malformed/],
    'two hashes for one block': [
      [first, { ...second, blockNumber: first.blockNumber }],
      /two block hashes/,
    ],
    'two different logs at one place': [
      [first, { ...first, data: `0x${'00'.repeat(31)}06` }],
      /block 1001 0xee\w+: .* two different logs with transaction index 1 and log index 1/,
    ],
    'a log without its hash': [[{ ...first, blockHash: undefined }], /malformed/],
    'a hash of letters that are no digits': [
      [{ ...first, transactionHash: `0x${'zz'.repeat(32)}` }],
      /malformed/,
    ],
    'data of half a byte': [[{ ...first, data: '0xabc' }], /malformed/],
  }
  for (const [what, [list, words]] of Object.entries(refused))
    test(what, () => {
      assert.throws(
        () => read(list),
        (error) => error instanceof RpcError && words.test(error.message),
      )
    })

  test('logs of blocks that were not asked for', () => {
    assert.throws(() => read([first], 1_000), /asked for logs of 0 to 1000, got 1001 to 1001/)
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
