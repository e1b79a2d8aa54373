import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { carryForward, timeWeighted } from './queries.ts'

const points = [
  { unix: 100, price: 5n },
  { unix: 200, price: 7n },
  { unix: 200, price: 8n },
  { unix: 300, price: 1n },
]

test('a price holds from its point until the next; before the first there is none', () => {
  assert.deepEqual(carryForward(points, [99, 100, 199, 200, 299, 300, 9_999]), [
    null,
    5n,
    5n,
    8n,
    8n,
    1n,
    1n,
  ])
  assert.deepEqual(carryForward([], [1, 2]), [null, null])
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
        const known = carryForward(sorted, moments).filter((price) => price !== null)
        if (known.length === 0) return
        const sum = known.reduce((total, price) => total + price, 0n)
        assert.equal(timeWeighted(sorted, range), sum / BigInt(known.length))
      },
    ),
  )
})
