import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { freePort } from './free-port.ts'

test('a wanted port is given while it is free; nobody else is given one by the system', async () => {
  const port = await freePort()
  assert.ok(port >= 10_000 && port < 32_768)
  assert.equal(await freePort(port), port)
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  assert.notEqual(await freePort(port), port)
  server.close()
})
