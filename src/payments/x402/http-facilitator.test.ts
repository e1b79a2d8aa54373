import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { facilitatorClient, parseHeaders } from './http-facilitator.ts'

const KEY = 'secret-of-the-operator'

async function clientOf(t: TestContext, listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return facilitatorClient({
    url,
    listing: {},
    headers: async () => ({ Authorization: `Bearer ${KEY}` }),
  })
}

test('neither the key nor a payment follows a redirect', async (t) => {
  const paths: string[] = []
  const client = await clientOf(t, ({ url }, response) => {
    paths.push(url ?? '')
    response.writeHead(307, { Location: '/elsewhere' }).end()
  })
  await assert.rejects(client.supported(), /supported failed/)
  assert.deepEqual(paths, ['/supported'])
})

test('an answer of more than 64 KB is not read to its end', async (t) => {
  const client = await clientOf(t, (_, response) => {
    response.end(`{"kinds":[],"more":"${'x'.repeat(70_000)}"}`)
  })
  await assert.rejects(client.supported(), /exceeds 65536 bytes/)
})

test('an error that repeats the key shows it masked', async (t) => {
  const client = await clientOf(t, ({ headers }, response) => {
    response.writeHead(401).end(`unknown: ${headers.authorization}; token ${KEY}`)
  })
  await assert.rejects(client.supported(), (error: Error) => {
    assert.match(error.message, /HTTP 401: unknown: \*\*\*; token \*\*\*/)
    return !JSON.stringify(error, Object.getOwnPropertyNames(error)).includes(KEY)
  })
})

test('the headers file has a header on each line, and anything else is refused', () => {
  assert.deepEqual(parseHeaders('Authorization: Bearer a:b\n\nX-Team:7\n'), {
    Authorization: 'Bearer a:b',
    'X-Team': '7',
  })
  assert.throws(() => parseHeaders('Bearer abc'), /lines of "Name: value"/)
})
