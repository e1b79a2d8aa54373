import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GENEROUS, startLines } from '#test/http/lines-harness.ts'

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

test('a broken body is refused on the last request of a connection too', async (context) => {
  const { open } = await startLines(context, { connectionLimits: { requestsPerSocket: 2 } })
  const chunked = 'Host: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n'
  for (const [more, before] of [
    ['', 'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['Connection: upgrade\r\nUpgrade: h2c\r\n', ''],
  ] as const) {
    const line = open()
    line.socket.write(`${before}POST /api/echo HTTP/1.1\r\n${chunked}${more}\r\nzz\r\n`)
    await line.send('zz\r\n')
    await line.closed
    assert.equal(line.statuses().at(-1), 400)
    assert.equal(line.statuses().length, before === '' ? 1 : 2)
  }
})
