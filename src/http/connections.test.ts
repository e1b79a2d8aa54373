import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { CONNECTION_LIMITS, Connections } from './connections.ts'

test('G3: in a crowd one address cannot take the sockets of the others', async () => {
  let owner: string | undefined = '192.0.2.1'
  const connections = new Connections({
    limits: { ...CONNECTION_LIMITS, crowded: 3, perAddress: 2 },
    ownerOf: () => owner,
  })
  const server = createServer((_request, response) => response.end())
  connections.watch(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  /** Opens a socket and keeps it; false where the server closed it at once. */
  const open = async () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    const ended = once(socket, 'close').then(() => false)
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    const served = await Promise.race([
      once(socket, 'data').then(
        () => true,
        () => false,
      ),
      ended,
    ])
    return { served, close: () => socket.destroy() }
  }
  const first = [await open(), await open(), await open()]
  assert.deepEqual(
    first.map((each) => each.served),
    [true, true, true],
  )
  assert.equal((await open()).served, false)
  owner = '192.0.2.2'
  const others = [await open(), await open(), await open()]
  assert.deepEqual(
    others.map((each) => each.served),
    [true, true, false],
  )
  owner = undefined
  for (let n = 0; n < 4; n += 1) assert.equal((await open()).served, true)

  owner = '192.0.2.1'
  for (const each of first.slice(0, 2)) each.close()
  while ((await open()).served === false) await setImmediate()
  server.closeAllConnections()
  server.close()
})

test('G3: a server that closes waits ten seconds for the rest of a request', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const connections = new Connections({ limits: CONNECTION_LIMITS, ownerOf: () => undefined })
  const server = createServer((request, response) => {
    connections.of(request.socket).begin(response)
    if (request.url === '/answered') connections.of(request.socket).answering(response)
  })
  connections.watch(server)
  const peers: Socket[] = []
  server.on('connection', (socket) => peers.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const [inHead, inBody, answered] = [
    'GET / HTTP/1.1\r\nHost',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n',
    'GET /answered HTTP/1.1\r\nHost: x\r\n\r\n',
  ].map((text) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(text)
    return { socket, closed: once(socket, 'close') }
  })
  assert.ok(inHead && inBody && answered)
  while (peers.length < 3 || peers.some((peer) => peer.bytesRead === 0)) await setImmediate()
  const closed = once(server, 'close')
  server.close()
  const pass = async (times: number) => {
    for (let time = 0; time < times; time += 1) context.mock.timers.tick(2_000)
    await setImmediate()
  }
  await pass(4)
  assert.ok(!inHead.socket.closed && !inBody.socket.closed)
  await pass(1)
  await Promise.all([inHead.closed, inBody.closed])
  await pass(4)
  assert.equal(answered.socket.closed, false)
  await pass(1)
  await Promise.all([answered.closed, closed])
})

test('a socket is closed when it is idle for longer than ten seconds, and not while it waits for its answer', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const connections = new Connections({ limits: CONNECTION_LIMITS, ownerOf: () => undefined })
  const late: ServerResponse[] = []
  const server = createServer((request, response) => {
    connections.of(request.socket).begin(response)
    if (request.url === '/late') late.push(response)
    else response.end()
  })
  connections.watch(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const ask = async (socket: Socket, path: string) => {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    if (path !== '/late') await once(socket, 'data')
  }
  const [idle, busy, waiting] = ['/', '/', '/late'].map((path) => {
    const socket = connect(port, '127.0.0.1')
    return { path, socket, asked: ask(socket, path), closed: once(socket, 'close') }
  })
  assert.ok(idle && busy && waiting)
  await Promise.all([idle.asked, busy.asked])
  while (late.length === 0) await setImmediate()
  const pass = async (seconds: number) => {
    context.mock.timers.tick(seconds * 1_000)
    await setImmediate()
  }
  await pass(2)
  await pass(8)
  assert.equal(idle.socket.destroyed, false)
  await ask(busy.socket, '/')
  await pass(4)
  await idle.closed
  await pass(4)
  await ask(busy.socket, '/')
  late.pop()?.end()
  await once(waiting.socket, 'data')
  assert.equal(waiting.socket.destroyed, false)
  await pass(2)
  await pass(12)
  await Promise.all([busy.closed, waiting.closed])
  server.close()
})
