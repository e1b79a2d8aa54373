import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
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
  while ((await open()).served === false) await new Promise((turn) => setImmediate(turn))
  server.closeAllConnections()
  server.close()
})
