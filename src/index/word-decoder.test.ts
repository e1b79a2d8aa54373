import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type AbiEvent,
  decodeEventLog,
  encodeAbiParameters,
  encodeEventTopics,
  type Hex,
  parseAbiItem,
} from 'viem'
import { compileWordDecoder } from './decode-event.ts'

const event = parseAbiItem(
  'event Dug(address indexed digger, uint256 indexed graveId, int128 depth, uint96 amount, bool deep, bytes4 tag, address token)',
)

const bytes = (size: number) =>
  fc
    .uint8Array({ minLength: size, maxLength: size })
    .map((list) => `0x${Buffer.from(list).toString('hex')}` as Hex)

test('every argument of one word is read as viem reads it', () =>
  fc.assert(
    fc.property(
      fc.record({
        digger: bytes(20),
        graveId: fc.bigInt(0n, 2n ** 256n - 1n),
        depth: fc.bigInt(-(2n ** 127n), 2n ** 127n - 1n),
        amount: fc.bigInt(0n, 2n ** 96n - 1n),
        deep: fc.boolean(),
        tag: bytes(4),
        token: bytes(20),
      }),
      (args) => {
        const log = logOf(args)
        const read = compileWordDecoder(event)?.(log)
        const { args: expected } = decodeEventLog({ abi: [event], ...log, strict: true })
        assert.deepEqual(lower(read), lower(expected))
      },
    ),
  ))

test('an event with a text or a list is left to the decoder of any length', () => {
  for (const text of ['event A(string name)', 'event B(uint256[] amounts)'])
    assert.equal(compileWordDecoder(parseAbiItem([text]) as AbiEvent), undefined)
})

test('a log that is too short, or has other topics, does not fit', () => {
  const log = logOf({
    ...{ digger: `0x${'11'.repeat(20)}`, graveId: 1n, depth: -5n, amount: 7n },
    ...{ deep: true, tag: '0x12345678', token: `0x${'22'.repeat(20)}` },
  })
  const read = compileWordDecoder(event)
  assert.ok(read !== undefined && read(log) !== undefined)
  assert.equal(read({ ...log, data: log.data.slice(0, -2) as Hex }), undefined)
  assert.equal(read({ ...log, topics: log.topics.slice(0, 2) }), undefined)
})

interface Dug {
  readonly digger: Hex
  readonly graveId: bigint
  readonly depth: bigint
  readonly amount: bigint
  readonly deep: boolean
  readonly tag: Hex
  readonly token: Hex
}

function logOf(args: Dug) {
  const { depth, amount, deep, tag, token } = args
  const topics = encodeEventTopics({ abi: [event], args }) as [Hex, ...Hex[]]
  const values = [depth, amount, deep, tag, token] as const
  const types = event.inputs.filter((input) => !('indexed' in input) || input.indexed !== true)
  return { topics, data: encodeAbiParameters(types, values as never) }
}

function lower(args: unknown): unknown {
  const entries = Object.entries(args as object)
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'string' ? value.toLowerCase() : value]),
  )
}
