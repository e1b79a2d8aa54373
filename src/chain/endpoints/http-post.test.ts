import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { EndpointError } from '../rpc-error.ts'
import { listSecrets, withoutSecrets } from './endpoint.ts'
import { openPost } from './json-rpc.ts'

let respond: RequestListener = (_, outgoing) => void outgoing.end()
const sockets = new Set<Socket>()
const server = createServer((incoming, outgoing) => {
  incoming.resume().on('end', () => respond(incoming, outgoing))
})
server.on('connection', (socket) => sockets.add(socket))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo
const url = `http://127.0.0.1:${port}`
after(() => {
  server.closeAllConnections()
  server.close()
})

const soon = { timeoutMs: 400 }

async function kindOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof EndpointError, String(error))
  return error.kind
}

test('an answer that unpacks to far more than was asked for is refused', async () => {
  const bomb = gzipSync(Buffer.alloc(65 * 1024 * 1024))
  respond = (_, outgoing) => void outgoing.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)
  assert.equal(await kindOf(openPost(url)('{}', { timeoutMs: 5_000 })), 'too-large')
})

test('an answer that says it is far too long is not waited for', async () => {
  respond = (_, outgoing) => {
    outgoing.writeHead(200, { 'content-length': 10_000_000_000 })
    outgoing.write('{')
  }
  assert.equal(await kindOf(openPost(url)('{}', soon)), 'too-large')
})

test('an answer that drips for ever ends at the time limit', async () => {
  respond = (_, outgoing) => {
    outgoing.writeHead(200)
    const timer = setInterval(() => outgoing.write(' '), 20)
    outgoing.on('close', () => clearInterval(timer))
  }
  assert.equal(await kindOf(openPost(url)('{}', soon)), 'timeout')
})

test('an endpoint that switches protocols ends at the time limit', async () => {
  respond = (_, { socket }) =>
    void socket?.write(
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n',
    )
  assert.equal(await kindOf(openPost(url)('{}', soon)), 'timeout')
})

test('a kept connection that the server has closed meanwhile is no failure', async () => {
  respond = (_, outgoing) => void outgoing.end('{}')
  const post = openPost(url)
  await post('{}', soon)
  respond = (incoming, outgoing) => {
    respond = (_, again) => void again.end('{"second":true}')
    incoming.socket.destroy()
    outgoing.destroy()
  }
  assert.equal((await post('{}', soon)).body.toString(), '{"second":true}')
})

test('basic auth and query keys are sent and never told', async () => {
  let seen: readonly unknown[] = []
  respond = (incoming, outgoing) => {
    seen = [incoming.headers.authorization, incoming.url]
    outgoing.writeHead(200).end('{}')
  }
  const secretUrl = `http://user:p%40ss@127.0.0.1:${port}/v2/0123456789abcdef?apikey=fedcba9876543210`
  await openPost(secretUrl)('{}', soon)
  const basic = Buffer.from('user:p@ss').toString('base64')
  assert.deepEqual(seen, [`Basic ${basic}`, '/v2/0123456789abcdef?apikey=fedcba9876543210'])
  const page = 'Cannot POST /v2/0123456789abcdef?apikey=fedcba9876543210 for user p@ss (p%40ss)'
  const clean = withoutSecrets(page, listSecrets(secretUrl))
  assert.doesNotMatch(clean, /0123456789abcdef|fedcba9876543210|p@ss|p%40ss|\buser\b/)
  assert.match(clean, /^Cannot POST \/v2\//)
})
