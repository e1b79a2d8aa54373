import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { systemClock } from '#lib/clock.ts'
import type { Outgoing } from './exchange.ts'
import { HeadWriter, hasBody, stampedHeaders } from './head-writer.ts'

const outgoing = (status: number, more: readonly string[] = []): Outgoing => ({
  status,
  headers: ['Content-Type', 'application/json; charset=utf-8', 'ETag', '"tag"', ...more],
  body: '{"data":"…"}',
})

/** What Node sends for an answer, on a connection that stays or ends with it. */
async function byNode(answer: Outgoing, close: boolean): Promise<string> {
  const server = createServer((_request, response) => {
    const headers = stampedHeaders(answer, { requestId: 'id', close }, !close)
    response.writeHead(answer.status, headers)
    response.end(hasBody(answer) ? answer.body : undefined)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  while (!String(Buffer.concat(chunks)).includes('\r\n\r\n')) await once(socket, 'data')
  socket.destroy()
  server.close()
  return String(Buffer.concat(chunks))
}

const undated = (text: string) => text.replace(/Date: .*/, 'Date')

for (const status of [200, 201, 204, 304, 400, 402, 404, 429, 500, 503])
  for (const close of [false, true])
    test(`the head of a ${status} is the same to the letter as Node's${close ? ', at the end of a connection too' : ''}`, async () => {
      const answer = outgoing(status, ['Link', '</a>; rel="next"', 'X-Empty', ''])
      const head = new HeadWriter({ clock: systemClock }).write(answer, { requestId: 'id', close })
      const body = hasBody(answer) ? answer.body : ''
      assert.equal(undated(`${head}${body}`), undated(await byNode(answer, close)))
    })

test('a date is of the second in which the answer leaves', () => {
  let nowMs = 1_795_000_000_999
  const heads = new HeadWriter({ clock: () => nowMs })
  const dateOf = () =>
    /Date: (.*)\r\n/.exec(heads.write(outgoing(200), { requestId: 'id', close: false }))?.[1]
  dateOf()
  assert.equal(dateOf(), new Date(1_795_000_000_000).toUTCString())
  nowMs += 1
  assert.equal(dateOf(), new Date(1_795_000_001_000).toUTCString())
})

test('a value that would begin a header of its own is never sent', () => {
  const heads = new HeadWriter({ clock: systemClock })
  for (const value of ['x\r\nSet-Cookie: a=b', 'x\n', 'x\r', 'x\0', 'x\u010a']) {
    const evil = outgoing(200, ['Link', value])
    assert.throws(
      () => heads.write(evil, { requestId: 'id', close: false }),
      /Invalid character in header content \["Link"\]/,
    )
  }
})
