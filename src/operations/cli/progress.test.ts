import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { createProgress } from './progress.ts'

test('progress is a line every five seconds with pace and time left', () => {
  const written: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      written.push(String(chunk))
      done()
    },
  })
  let now = 0
  const progress = createProgress(stream, () => now)
  progress.update('indexing base', 1, 10)
  now = 4_999
  progress.update('indexing base', 2, 10)
  now = 5_000
  progress.update('indexing base', 6, 10)
  progress.update('indexing ethereum', 1, 4)
  progress.finish()
  now = 60_000
  progress.update('indexing base', 10, 10)
  assert.deepEqual(written, [
    'indexing base: 1 of 10\n',
    'indexing base: 6 of 10 (1.0/s, 4 s left)\n',
    'indexing ethereum: 1 of 4\n',
  ])
})
