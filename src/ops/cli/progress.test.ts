import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { describe, it } from 'node:test'
import { createProgress } from './progress.ts'

function capture() {
  const written: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      written.push(String(chunk))
      done()
    },
  })
  return { written, stream }
}

describe('the progress', () => {
  it('outside of a terminal it is a plain line every five seconds with pace and time left', () => {
    const { written, stream } = capture()
    let now = 0
    const board = createProgress({ output: stream, log: stream, isTty: false, clock: () => now })
    board.update('indexing base', 1, 10)
    now = 4_999
    board.update('indexing base', 2, 10)
    now = 5_000
    board.update('indexing base', 6, 10)
    board.update('indexing ethereum', 1, 4)
    board.finish()
    now = 60_000
    board.update('indexing base', 10, 10)
    assert.deepEqual(written, [
      'indexing base: 1 of 10\n',
      'indexing base: 6 of 10 (1.0/s, 4 s left)\n',
      'indexing ethereum: 1 of 4\n',
    ])
  })

  it('log lines go on while and after a bar is shown', () => {
    const bars = capture()
    const log = capture()
    const board = createProgress({
      output: bars.stream,
      log: log.stream,
      isTty: true,
      clock: () => 0,
    })
    board.print('before\n')
    board.update('indexing base', 1, 10)
    board.print('during\n')
    board.finish()
    board.print('after\n')
    assert.ok(bars.written.join('').includes('during\n'), 'also what comes just before the end')
    assert.ok(log.written.join('').startsWith('before\n'))
    assert.ok(log.written.join('').endsWith('after\n'))
  })
})
