import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DAY_SECONDS } from '#lib/time.ts'
import { seriesDays, valuesAtDayEnds } from './day-rows.ts'

test('a period of n days is n days without gaps, oldest first, today last and not complete', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3_650 }), fc.integer({ min: 0, max: 2e9 }), (n, asOf) => {
      const days = seriesDays(n, asOf, undefined)
      assert.equal(days.length, n)
      for (const [index, day] of days.entries()) {
        assert.equal(day.dateUnix - (days[0]?.dateUnix ?? 0), index * DAY_SECONDS)
        assert.equal(day.complete, index < n - 1)
      }
      const today = days.at(-1)?.dateUnix ?? 0
      assert.ok(today <= asOf && asOf < today + DAY_SECONDS)
    }),
  )
})

test('all days begin with the first that has data, and are today alone without any', () => {
  assert.equal(seriesDays('all', 10 * DAY_SECONDS + 5, 8 * DAY_SECONDS + 9).length, 3)
  assert.equal(seriesDays('all', 10 * DAY_SECONDS, undefined).length, 1)
})

test('values at day ends are the sums of the changes up to each day', () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt({ min: -9n, max: 9n }), { minLength: 1 }), (changes) => {
      const days = seriesDays(changes.length, 1_700_000_000, undefined)
      const changeOf = new Map(days.map((day, index) => [day.dateUnix, changes[index] ?? 0n]))
      let sum = 0n
      const expected = changes.map((change) => {
        sum += change
        return sum
      })
      assert.deepEqual(
        valuesAtDayEnds(days, sum, (value, day) => value - (changeOf.get(day) ?? 0n)),
        expected,
      )
    }),
  )
})
