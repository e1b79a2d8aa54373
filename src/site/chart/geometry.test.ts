import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { datesBetween } from '#site/chart/draw-chart.ts'
import { cut, dayName, dollars, percent, short, tickLabels } from './format.ts'
import { areaPath, barPaths, computeScale, linePath, sums } from './geometry.ts'

const box = { width: 600, height: 200 }
const values = fc.array(fc.option(fc.double({ min: 0, max: 1e12, noNaN: true }), { nil: null }), {
  minLength: 1,
  maxLength: 400,
})

test('a scale holds every value with at most four labels', () => {
  fc.assert(
    fc.property(values, fc.boolean(), (list, fromZero) => {
      const scale = computeScale(list, { fromZero })
      assert.ok(scale.ticks.length <= 4 && scale.ticks.length > 0)
      assert.ok(scale.high > scale.low)
      for (const value of list) if (value !== null) assert.ok(inside(value, scale), `${value}`)
      if (fromZero) assert.equal(scale.low, 0)
      for (const tick of scale.ticks) assert.ok(inside(tick, scale), `${tick}`)
    }),
  )
})

function inside(value: number, { low, high }: { readonly low: number; readonly high: number }) {
  const slack = (high - low) * 1e-9
  return value >= low - slack && value <= high + slack
}

test('a line and its area break where days are unknown, and a single known day is seen', () => {
  const scale = { low: 0, high: 4, ticks: [] }
  const days = [1, 2, null, 4, null]
  assert.equal(linePath(days, scale, box), 'M60 150L180 100M418.5 0h3')
  assert.equal(areaPath(days, scale, box), 'M60 200L60 150L180 100V200ZM420 200L420 0V200Z')
})

test('stacked bars stand on the foot and on each other', () => {
  const series = [
    [1, 2],
    [3, null],
  ]
  const scale = { low: 0, high: 4, ticks: [] }
  assert.deepEqual(sums(series), [4, 2])
  assert.deepEqual(barPaths(series, scale, box), [
    'M118 150h64v50h-64zM418 100h64v100h-64z',
    'M118 0h64v149h-64z',
  ])
})

test('a scale ends just above its largest value, and counts have no halves', () => {
  const { high, ticks } = computeScale([430_000, 12_000], { fromZero: true })
  assert.deepEqual([high, ticks], [451_500, [0, 200_000, 400_000]])
  assert.deepEqual(computeScale([1, 2], { fromZero: true, isWhole: true }).ticks, [0, 1, 2])
})

test('dates below a chart are few, and leave room for the last day', () => {
  const fromUnix = Date.UTC(2026, 8, 12) / 1000
  const names = (count: number, most: number) =>
    datesBetween(fromUnix, count, most).map(({ name }) => name)
  assert.deepEqual(names(90, 6), ['15 Sep', '1 Oct', '15 Oct', '1 Nov', '15 Nov', '1 Dec'])
  assert.deepEqual(names(90, 2), ['1 Oct', '1 Nov'])
  assert.deepEqual(names(7, 6), ['12 Sep', '13 Sep', '14 Sep', '15 Sep', '16 Sep'])
  assert.deepEqual(names(730, 6), ['1 Jan 2027', '1 Jan 2028'])
})

test('no two labels of a scale are the same, and a share has two significant digits', () => {
  const { ticks } = computeScale([99_990_100, 99_999_900], { fromZero: false })
  const labels = tickLabels(ticks, short)
  assert.equal(new Set(labels).size, ticks.length)
  assert.ok(labels.includes('99.995m'), labels.join())
  assert.deepEqual(tickLabels([1_000_000, 2_000_000], short), ['1m', '2m'])
  assert.deepEqual(
    [0.0076, 0.00000123, 0.05, 2.409, 0, -0.0076].map((share) => percent(share)),
    ['0.0076%', '0.0000012%', '0.050%', '2.40%', '0.00%', '−0.0076%'],
  )
  assert.equal(percent(2.36, 4), '2.3600%')
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
