import assert from 'node:assert/strict'
import { it } from 'node:test'
import { padded } from './padded.ts'

it('keys are padded to a power of two with the last of them', () => {
  assert.deepEqual(padded([]), [])
  assert.deepEqual(padded(['a', 'b', 'c']), ['a', 'b', 'c', 'c'])
  assert.deepEqual(padded(['a', 'b']), ['a', 'b'])
})
