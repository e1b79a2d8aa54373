import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { systemClock } from '#lib/clock.ts'
import type { Outgoing } from './exchange.ts'
import { HeadWriter } from './head-writer.ts'
import { send } from './send.ts'

const BODY = '{"data":"…"}'
const usual = (more: readonly string[] = []): Outgoing => ({
  status: 200,
  headers: ['Content-Type', 'application/json; charset=utf-8', 'ETag', '"tag"', ...more],
  body: BODY,
})

/** A server that gives one answer after the other, and the bytes that it sends for requests in a row. */
async function serve(context: TestContext, answers: readonly Outgoing[]) {
  const heads = new HeadWriter({ clock: systemClock })
  const errors: unknown[] = []
  const left = [...answers]
  let number = 0
  const server: Server = createServer((_request, response) => {
    const outgoing = left.shift() ?? usual()
    number += 1
    const stamp = { requestId: `id-${number}`, close: false }
    try {
      send(heads, response, { outgoing, stamp })
    } catch (error) {
      errors.push(error)
      response.socket?.end()
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const ask = async (text: string) => {
    const socket = connect(port, '127.0.0.1')
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.write(text)
    await once(socket, 'close')
    const bytes = Buffer.concat(chunks).toString()
    return bytes
      .split(/(?=HTTP\/1\.1 )/)
      .map((each) => each.replace(/id-\d+/, 'id').replace(/Date: .*/, 'Date'))
  }
  return { ask, errors }
}

const request = (method = 'GET', more = '') => `${method} / HTTP/1.1\r\nHost: x\r\n${more}\r\n`
const LAST = request('GET', 'Connection: close\r\n')

test('every head is the same to the letter as the one that Node wrote', async (context) => {
  const { ask } = await serve(context, [])
  const writeHead = context.mock.method(ServerResponse.prototype, 'writeHead')
  const [byNode, ...others] = await ask(request().repeat(4) + LAST)
  assert.equal(others.length, 4)
  assert.equal(writeHead.mock.callCount(), 2, 'of the first and the last')
  const last = others.pop()
  for (const other of others) assert.equal(other, byNode)
  assert.match(
    byNode ?? '',
    /\r\nKeep-Alive: timeout=10\r\nDate\r\nConnection: keep-alive\r\n\r\n\{"data":"…"\}$/,
  )
  assert.match(last ?? '', /Connection: close\r\n\r\n\{"data":"…"\}$/)
})

test('a connection that Node ends is not told to stay', async (context) => {
  const { ask } = await serve(context, [])
  const [answer] = await ask('GET / HTTP/1.0\r\nHost: x\r\n\r\n')
  assert.match(answer ?? '', /Connection: close/)
  assert.doesNotMatch(answer ?? '', /Keep-Alive/)
})

test('the answer to HEAD has the head of a GET and no body', async (context) => {
  const { ask } = await serve(context, [])
  const [get, head] = await ask(request() + request('HEAD') + LAST)
  assert.equal(get, `${head}${BODY}`)
})

test('a date is of the second in which the answer leaves', async (context) => {
  let nowMs = 1_795_000_000_999
  const heads = new HeadWriter({ clock: () => nowMs })
  const server = createServer((_request, response) => {
    send(heads, response, { outgoing: usual(), stamp: { requestId: 'id', close: false } })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const dateOf = async () => (await fetch(url)).headers.get('date')
  await dateOf()
  assert.equal(await dateOf(), new Date(1_795_000_000_000).toUTCString())
  nowMs += 1
  assert.equal(await dateOf(), new Date(1_795_000_001_000).toUTCString())
})

test('a value that would begin a header of its own is never sent', async (context) => {
  const evil = usual(['Link', 'x\r\nSet-Cookie: a=b'])
  const { ask, errors } = await serve(context, [usual(), usual(), evil])
  await ask(request() + LAST)
  assert.deepEqual(await ask(request()), [''])
  assert.match(String(errors[0]), /Invalid character in header content/)
})
