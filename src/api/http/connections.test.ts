import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { CONNECTION_LIMITS, type ConnectionLimits, Connections } from './connections.ts'

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

/** A server whose sockets are swept when time is told to pass; `/much` is more than a socket holds. */
async function startSwept(context: TestContext, limits: Partial<ConnectionLimits> = {}) {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const connections = new Connections({
    limits: { ...CONNECTION_LIMITS, ...limits },
    ownerOf: () => undefined,
  })
  const late = new Map<number | undefined, ServerResponse>()
  const server = createServer((request, response) => {
    connections.of(request.socket).begin(response)
    if (request.url === '/late') late.set(request.socket.remotePort, response)
    else response.end(request.url === '/much' ? 'x'.repeat(30_000_000) : undefined)
  })
  connections.watch(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  context.after(async () => {
    server.close()
    await once(server, 'close')
  })
  /** Opens a socket and asks; gives it when the answer has begun, or at once where it will be late. */
  const open = async (path: string) => {
    const peer = once(server, 'connection')
    const socket = connect(port, '127.0.0.1').resume()
    const closed = once(socket, 'close')
    const ask = async (asked: string) => {
      socket.write(`GET ${asked} HTTP/1.1\r\nHost: x\r\n\r\n`)
      if (asked !== '/late') await once(socket, 'data')
      while (asked === '/late' && !late.has(socket.localPort)) await setImmediate()
    }
    await ask(path)
    const [atServer] = (await peer) as [Socket]
    const end = () => late.get(socket.localPort)?.end()
    return { socket, atServer, closed, ask, end }
  }
  const pass = async (seconds: number) => {
    for (let passed = 0; passed < seconds; passed += 2) context.mock.timers.tick(2_000)
    await setImmediate()
  }
  return { open, pass }
}

test('a socket is closed when it is idle for longer than ten seconds, and not while it waits for its answer', async (context) => {
  const { open, pass } = await startSwept(context)
  const [idle, busy, waiting] = [await open('/'), await open('/'), await open('/late')]
  await pass(10)
  assert.equal(idle.socket.destroyed, false)
  await busy.ask('/')
  await pass(4)
  await idle.closed
  await pass(4)
  await busy.ask('/')
  waiting.end()
  await once(waiting.socket, 'data')
  assert.equal(waiting.socket.destroyed, false)
  await pass(14)
  await Promise.all([busy.closed, waiting.closed])
})

test('a socket that waits is closed when nothing moves on it for a minute', async (context) => {
  const { open, pass } = await startSwept(context)
  const [waiting, answered] = [await open('/late'), await open('/late')]
  await pass(60)
  assert.equal(waiting.socket.destroyed, false)
  answered.end()
  await once(answered.socket, 'data')
  await pass(4)
  await waiting.closed
  assert.equal(answered.socket.destroyed, false)
  await pass(14)
  await answered.closed
})

test('G3: who stops reading his answer is closed, and who goes on has all of it', async (context) => {
  const { open, pass } = await startSwept(context, { stillMs: 500 })
  const [stopped, reader] = [await open('/much'), await open('/much')]
  for (const { socket } of [stopped, reader]) socket.pause()
  while (stopped.atServer.writableLength === 0) await setImmediate()
  const closed = once(stopped.atServer, 'close')
  await pass(6)
  reader.socket.resume()
  await closed
  while (reader.socket.bytesRead < 30_000_000) await once(reader.socket, 'data')
  await pass(2)
  assert.equal(reader.atServer.timeout, 0)
  reader.socket.destroy()
})
