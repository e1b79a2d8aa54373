import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getHeapSpaceStatistics } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openCollector } from './collect-young.ts'

const youngBytes = () =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_used_size ??
  Number.NaN

test('what lived shortly is gone at once, not when the young part of the heap is full', () => {
  const collect = openCollector()
  const shares = Array.from({ length: 5 }, () => {
    const pieces = Array.from({ length: 500 }, (_, index) => ({ piece: Buffer.from([index]) }))
    const before = youngBytes()
    pieces.length = 0
    collect()
    return youngBytes() / before
  })
  // V8 may have tidied up just before one of them.
  assert.ok(Math.min(...shares) < 0.7, `${shares} of it is left`)
})

test('no code but its caller is given the collector', () => {
  openCollector()
  assert.equal(runInNewContext('typeof gc'), 'undefined')
})
