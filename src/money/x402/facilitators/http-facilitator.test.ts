import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseHeaders } from './http-facilitator.ts'

test('the headers file has a header on each line, and anything else is refused', () => {
  assert.deepEqual(parseHeaders('Authorization: Bearer a:b\n\nX-Team:7\n'), {
    Authorization: 'Bearer a:b',
    'X-Team': '7',
  })
  assert.throws(() => parseHeaders('Bearer abc'), /lines of "Name: value"/)
})
