import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { test } from 'node:test'
import { isPublicAddress } from '#serving/webhooks/webhook-url.ts'
import { type PostDeps, postEvent } from './post-event.ts'
import { parseWebhookUrl } from './webhook-url.ts'

const open: PostDeps = {
  allowPrivate: true,
  resolve: async () => ['127.0.0.1'],
  timeoutMs: 60_000,
}

function post(url: string, deps: Partial<PostDeps> = {}) {
  const { signal } = new AbortController()
  return postEvent({ ...open, ...deps }, { url, payload: '{}', headers: {}, signal })
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
    ({ headers }, response) => void response.end(String(hosts.push(headers.host))),
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

test('a redirect is an answer, not a way', async () => {
  const paths: unknown[] = []
  await withServer(
    ({ url }, response) => {
      paths.push(url)
      response.writeHead(307, { location: '/other' }).end()
    },
    async (port) => {
      const outcome = await post(`http://a.example:${port}/one`)
      assert.ok(outcome.kind === 'answered' && outcome.status === 307)
      assert.deepEqual(paths, ['/one'])
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

test('silence, dripping headers and a stuck name server end at the deadline', async (context) => {
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
  const outcomes = await Promise.all([
    post(`http://a.example:${port}/`, { timeoutMs }),
    post('http://a.example/', { timeoutMs, resolve: () => new Promise(() => undefined) }),
  ])
  for (const each of outcomes) assert.deepEqual(each, { kind: 'failed', reason: 'timeout' })
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
