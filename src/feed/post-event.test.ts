import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { test } from 'node:test'
import { isPublicAddress, type PostInput, parseWebhookUrl, postEvent } from './post-event.ts'

function post(url: string, more: Partial<PostInput> = {}) {
  const { signal } = new AbortController()
  const resolve = async () => ['127.0.0.1']
  return postEvent({
    url,
    payload: '{}',
    headers: {},
    signal,
    allowPrivate: true,
    resolve,
    timeoutMs: 60_000,
    ...more,
  })
}

async function withServer(answer: RequestListener, work: (port: number) => Promise<void>) {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    await work((server.address() as AddressInfo).port)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test('private, local, translated and reserved addresses are refused, whatever their spelling', () => {
  const refused = [
    ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.1.2', '169.254.169.254'],
    ...['172.16.0.1', '172.31.255.255', '192.168.1.1', '192.0.0.8', '198.18.0.1', '224.0.0.1'],
    ...['240.0.0.1', '255.255.255.255', '::', '::1', '::ffff:10.0.0.1', '::ffff:8.8.8.8'],
    ...['64:ff9b::a00:1', '64:ff9b:1::1', '2002:a00:1::', '2001::1', '2001:db8::1', 'fc00::1'],
    ...['fd12::1', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'ff02::1', '::127.0.0.1', 'localhost', ''],
  ]
  assert.deepEqual(refused.filter(isPublicAddress), [])
  const open = ['1.1.1.1', '8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00::1']
  assert.deepEqual(
    open.filter((each) => !isPublicAddress(each)),
    [],
  )
})

test('only https URLs of public hosts are taken', () => {
  const wrong = [
    ...['http://a.example', 'ftp://a.example', 'a.example', 'https://u:p@a.example', ''],
    ...[
      'https://a.example/#x',
      'https://a.example:25',
      'https://a.example:22',
      'https://localhost',
    ],
    ...[
      'https://127.0.0.1',
      'https://0x7f.1',
      'https://2130706433',
      'https://[::1]',
      'https://10.0.0.1:8443',
    ],
    ...[
      'https://[::ffff:7f00:1]',
      'https://169.254.169.254/latest',
      `https://a.example/${'x'.repeat(2_100)}`,
    ],
  ]
  for (const text of wrong)
    assert.equal(typeof parseWebhookUrl(text, { allowPrivate: false }), 'string', text)
  for (const text of ['https://a.example/x?y=1', 'https://a.example:8443', 'https://1.1.1.1'])
    assert.ok(parseWebhookUrl(text, { allowPrivate: false }) instanceof URL, text)
  assert.ok(parseWebhookUrl('http://127.0.0.1:9', { allowPrivate: true }) instanceof URL)
})

test('a name with one private address among public ones is never connected to', () =>
  withServer(
    () => assert.fail(),
    async (port) => {
      for (const addresses of [['127.0.0.1'], ['1.1.1.1', '127.0.0.1'], ['::ffff:127.0.0.1']]) {
        const deps = { allowPrivate: false, resolve: async () => addresses }
        const outcome = await post(`http://rebinding.example:${port}/`, deps)
        assert.deepEqual(outcome, { kind: 'failed', reason: 'private_address' })
      }
      const literal = await post(`http://127.0.0.1:${port}/`, { allowPrivate: false })
      assert.deepEqual(literal, { kind: 'failed', reason: 'private_address' })
    },
  ))

test('a name is resolved once, and what was checked is connected to with the name as host', async () => {
  const hosts: unknown[] = []
  await withServer(
    ({ headers }, response) => {
      assert.equal(headers.accept, '*/*')
      response.end(String(hosts.push(headers.host)))
    },
    async (port) => {
      let asked = 0
      const resolve = async () => {
        asked += 1
        return asked === 1 ? ['127.0.0.1'] : ['127.0.0.9']
      }
      const outcome = await post(`http://rebinding.example:${port}/`, { resolve })
      assert.equal(outcome.kind, 'answered')
      assert.equal(asked, 1)
      assert.deepEqual(hosts, [`rebinding.example:${port}`])
    },
  )
})

test('an endless body is not read, and costs neither memory nor the deadline', () =>
  withServer(
    (_, response) => {
      const more = () => {
        while (response.write('x'.repeat(1_000)));
      }
      response.writeHead(200).on('drain', more).on('error', assert.ifError)
      more()
    },
    async (port) => {
      const { kind } = await post(`http://a.example:${port}/`)
      assert.equal(kind, 'answered')
    },
  ))

test('silence and dripping headers end at the deadline', async (context) => {
  const server = createSocketServer((socket) => {
    socket.on('error', () => undefined)
    socket.write('HTTP/1.1 200 OK\r\n')
    const drip = setInterval(() => socket.write('x-drip: 1\r\n'), 20)
    context.after(() => {
      clearInterval(drip)
      socket.destroy()
    })
  })
  context.after(() => void server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const startedMs = performance.now()
  const timeoutMs = 250
  const outcome = await post(`http://a.example:${port}/`, { timeoutMs })
  assert.deepEqual(outcome, { kind: 'failed', reason: 'timeout' })
  assert.ok(performance.now() - startedMs < 40 * timeoutMs)
})

test('what failed is told as a code, without what the network said', async () => {
  assert.deepEqual(await post('http://a.example:1/'), {
    kind: 'failed',
    reason: 'connection_refused',
  })
  const resolve = async () => []
  assert.deepEqual(await post('http://a.example/', { resolve }), {
    kind: 'failed',
    reason: 'name_not_found',
  })
  await withServer(
    (_, response) => void response.writeHead(200).end(),
    async (port) =>
      assert.deepEqual(await post(`https://a.example:${port}/`), {
        kind: 'failed',
        reason: 'tls_failed',
      }),
  )
})
