import assert from 'node:assert/strict'
import { test } from 'node:test'
import { free } from './free.ts'

const BYTES = 32_000_000

test('memory that is freed is given back at once, and its views are empty', () => {
  const numbers = new Uint32Array(BYTES / 4).fill(7)
  const tail = numbers.subarray(5)
  const before = process.memoryUsage().arrayBuffers
  free(numbers)
  assert.ok(before - process.memoryUsage().arrayBuffers >= BYTES / 2)
  assert.deepEqual([numbers.length, tail.length, tail[0]], [0, 0, undefined])
})
