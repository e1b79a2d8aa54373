import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { facilitatorClient } from './facilitator-client.ts'

const KEY = 'secret-of-the-operator'

const REQUIREMENTS = {
  scheme: 'exact',
  network: 'eip155:8453',
  amount: '1',
  asset: '0x1',
  payTo: '0x2',
  maxTimeoutSeconds: 300,
  extra: {},
} as const
const PAYLOAD = { x402Version: 2, accepted: REQUIREMENTS, payload: {} }

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

const FAULTS: Readonly<Record<string, RequestListener>> = {
  'half a document': (_, response) => response.end('{"isValid":true,"success":true,"kinds":['),
  HTML: (_, response) => response.end('<html>down for maintenance</html>'),
  'a list': (_, response) => response.end('[]'),
  nothing: (_, response) => response.end(''),
  'half a body': (_, response) => {
    response.writeHead(200, { 'Content-Length': '100' }).write('{"isValid":true,"success":true}')
    setTimeout(() => response.destroy(), 10)
  },
  'a cut connection': (_, response) => response.destroy(),
  ...Object.fromEntries(
    [429, 500].map((status): [string, RequestListener] => [
      `HTTP ${status}`,
      (_, response) => response.writeHead(status).end('{"isValid":true,"success":true}'),
    ]),
  ),
}

for (const [name, listener] of Object.entries(FAULTS))
  test(`${name} instead of an answer is an error of each call`, async (t) => {
    const client = await clientOf(t, listener)
    const asked = [PAYLOAD, REQUIREMENTS] as const
    await assert.rejects(client.supported(), /supported failed/)
    await assert.rejects(client.verify(...asked), /verify failed/)
    await assert.rejects(client.settle(...asked), /settle failed/)
  })
