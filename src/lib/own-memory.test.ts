import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMarkedAsUntransferable } from 'node:worker_threads'
import { ownMemory } from './own-memory.ts'

/** A buffer at the start of the pool, which others share. */
function firstOfPool(): Buffer {
  for (;;) {
    const small = Buffer.from('small')
    if (small.byteOffset === 0) return small
  }
}

test('a small buffer at the start of the pool is copied, so that it can move between threads', () => {
  const small = firstOfPool()
  assert.ok(isMarkedAsUntransferable(small.buffer))
  const own = ownMemory(small)
  assert.equal(Buffer.from(own).toString(), 'small')
  assert.equal(structuredClone(own, { transfer: [own.buffer] }).length, 5)
  assert.equal(small.toString(), 'small')
})

test('a buffer that fills memory of its own moves as it is, and a view into it does not', () => {
  const large = Buffer.allocUnsafeSlow(100)
  assert.equal(ownMemory(large).buffer, large.buffer)
  assert.equal(ownMemory(large.subarray(0, 20)).length, 20)
  assert.notEqual(ownMemory(large.subarray(1)).buffer, large.buffer)
})
