import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cut, dayName, dollars, short } from './format.ts'
import { areaPath, linePath, scaleOf, stackedBars, sums, yOf } from './geometry.ts'

const box = { width: 600, height: 200 }
const values = fc.array(fc.option(fc.double({ min: 0, max: 1e12, noNaN: true }), { nil: null }), {
  minLength: 1,
  maxLength: 400,
})

test('a scale holds every value with at most four labels', () => {
  fc.assert(
    fc.property(values, fc.boolean(), (list, fromZero) => {
      const scale = scaleOf(list, fromZero)
      assert.ok(scale.ticks.length <= 4 && scale.ticks.length > 0)
      assert.ok(scale.high > scale.low)
      for (const value of list) if (value !== null) assert.ok(inside(value, scale), `${value}`)
      if (fromZero) assert.equal(scale.low, 0)
    }),
  )
})

function inside(value: number, { low, high }: { readonly low: number; readonly high: number }) {
  const slack = (high - low) * 1e-9
  return value >= low - slack && value <= high + slack
}

test('paths hold finite numbers only', () => {
  fc.assert(
    fc.property(values, (list) => {
      const scale = scaleOf(list, false)
      for (const path of [linePath(list, scale, box), areaPath(list, scale, box)])
        assert.doesNotMatch(path, /NaN|Infinity/)
    }),
  )
})

test('a line and its area break where days are unknown, and a single known day is seen', () => {
  const scale = scaleOf([0, 4], true)
  const days = [1, 2, null, 4, null]
  assert.equal(linePath(days, scale, box), 'M60 150L180 100M418.5 0h3')
  assert.equal(areaPath(days, scale, box), 'M60 200L60 150L180 100V200ZM420 200L420 0V200Z')
})

test('a line of zeros has a scale of its own', () => {
  assert.deepEqual(scaleOf([0, 0], false), scaleOf([0, 0], true))
  assert.equal(scaleOf([0, 0], false).high, 1)
})

test('stacked bars stand on the foot and on each other', () => {
  const series = [
    [1, 2],
    [3, null],
  ]
  const scale = scaleOf(sums(series), true)
  const [lower, upper] = stackedBars(series, scale, box)
  assert.equal((lower?.[0]?.y ?? 0) + (lower?.[0]?.height ?? 0), box.height)
  assert.equal((upper?.[0]?.y ?? 0) + (upper?.[0]?.height ?? 0) + 1, lower?.[0]?.y)
  assert.equal(upper?.[0]?.y, yOf(4, scale, box))
  assert.equal(upper?.length, 1, 'nothing is drawn where there is nothing')
})

test('figures are cut, never rounded up', () => {
  assert.equal(short(23_999_999), '23.99m')
  assert.equal(short(200_000), '200k')
  assert.equal(short(-1_234), '−1.234k')
  assert.equal(short(999.99), '999.9')
  assert.equal(dollars(0.00000012), '$0.00000012')
  assert.equal(cut(0.0256999, 4), '0.02569')
  assert.equal(cut(0.3, 4), '0.3')
  assert.equal(cut(0, 4), '0')
  assert.equal(dayName(1_795_453_029, true), '23 Nov 2026')
})
