import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { lastBefore, timeWeighted } from './queries.ts'

const points = [
  { unix: 100, price: 5n },
  { unix: 200, price: 7n },
  { unix: 200, price: 8n },
  { unix: 300, price: 1n },
]

test('an event has the price at the close of the block before it, and that of another chain before its second', () => {
  const on = (chainId: number, blockNumber: number, unix: number) => ({
    chainId,
    blockNumber,
    unix,
  })
  const ours = [on(1, 10, 100), on(1, 11, 100), on(1, 12, 101)]
  const foundFor = (moments: readonly ReturnType<typeof on>[]) =>
    lastBefore(ours, moments).map((point) => point?.blockNumber)
  assert.deepEqual(foundFor([on(1, 9, 99), on(1, 10, 100), on(1, 11, 100), on(1, 12, 100)]), [
    undefined,
    undefined,
    10,
    11,
  ])
  assert.deepEqual(foundFor([on(2, 7, 100), on(2, 8, 101), on(1, 12, 101), on(2, 9, 102)]), [
    undefined,
    11,
    11,
    12,
  ])
  const endOf = (unix: number) => lastBefore(ours, [{ unix, chainId: null, blockNumber: 0 }])
  assert.deepEqual(
    [99, 100, 101].map((unix) => endOf(unix)[0]?.blockNumber),
    [undefined, 11, 12],
  )
})

test('an average weighs each price by how long it held', () => {
  assert.equal(
    timeWeighted(points, { fromUnix: 150, untilUnix: 250 }),
    (5n * 50n + 8n * 50n) / 100n,
  )
  assert.equal(timeWeighted(points, { fromUnix: 300, untilUnix: 400 }), 1n)
  assert.equal(timeWeighted([], { fromUnix: 0, untilUnix: 1 }), null)
})

test('a price of one block hardly moves an average of half an hour', () => {
  const pumped = [
    { unix: 0, price: 1_000n },
    { unix: 1_798, price: 1_000_000n },
  ]
  const average = timeWeighted(pumped, { fromUnix: 0, untilUnix: 1_800 })
  assert.equal(average, (1_000n * 1_798n + 1_000_000n * 2n) / 1_800n)
})

test('an average equals the mean of the price of every second', () => {
  const point = fc.record({ unix: fc.nat(60), price: fc.bigInt({ min: 1n, max: 100n }) })
  fc.assert(
    fc.property(
      fc.array(point, { minLength: 1 }),
      fc.nat(50),
      fc.integer({ min: 1, max: 20 }),
      (list, fromUnix, seconds) => {
        const sorted = list.toSorted((a, b) => a.unix - b.unix)
        const range = { fromUnix, untilUnix: fromUnix + seconds }
        const moments = Array.from({ length: seconds }, (_, index) => fromUnix + index)
        const known = moments.flatMap(
          (moment) => sorted.findLast(({ unix }) => unix <= moment)?.price ?? [],
        )
        if (known.length === 0) return
        const sum = known.reduce((total, price) => total + price, 0n)
        assert.equal(timeWeighted(sorted, range), sum / BigInt(known.length))
      },
    ),
  )
})
