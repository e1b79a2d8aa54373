import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GENEROUS, startLines } from '#api/lines-harness.ts'

const POST =
  'POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"text":"a"}'

test('a POST that came whole is answered before the bytes behind it end the connection', async (context) => {
  const { open } = await startLines(context, GENEROUS)
  for (const behind of ['GARBAGE\r\n\r\n', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n']) {
    const line = open()
    line.socket.write(POST + behind)
    await line.closed
    assert.equal(line.statuses()[0], 201, behind)
  }
})
