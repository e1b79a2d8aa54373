import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GENEROUS, get, startLines, THING } from '#test/http/lines-harness.ts'

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
const BODY = 'Content-Type: application/json\r\nContent-Length: 12\r\n'

test('G7: an answer to a request to upgrade ends the connection, and nothing behind it is charged', async (context) => {
  const { world, open, anonymous } = await startLines(context, GENEROUS)
  for (const [request, status, charged] of [
    [get('/api/thing', UPGRADE), 200, 1],
    [get('/api/thing', 'Connection: keep-alive, upgrade\r\nUpgrade:\r\n'), 200, 1],
    [get('/api/thing', `${UPGRADE}Authorization: Bearer nobody\r\n`), 401, undefined],
    [get('/nowhere', UPGRADE), 404, undefined],
    [get('/api/thing', UPGRADE).replace('GET', 'HEAD'), 200, 1],
    [get('/api/thing', UPGRADE).replace('GET', 'OPTIONS'), 204, undefined],
    [get('/api/thing', UPGRADE).replace('GET', 'DELETE'), 405, undefined],
    [`${get('/api/echo', UPGRADE + BODY).replace('GET', 'POST')}{"text":"a"}`, 201, undefined],
  ] as const)
    for (const rest of [THING, THING.slice(7)]) {
      world.counts.clear()
      const line = open()
      line.socket.write(request + rest)
      await line.send(THING)
      await line.closed
      assert.deepEqual(line.statuses(), [status], request)
      assert.match(line.answers()[0] ?? '', /\r\nConnection: close\r\n/, request)
      assert.equal(anonymous(), charged, request)
    }
})

test('answers before a request to upgrade leave the connection open, and all are charged', async (context) => {
  const { open, anonymous, holdThing } = await startLines(context, GENEROUS)
  const release = holdThing('late')
  const line = open()
  await line.send(THING + get('/api/thing', UPGRADE) + THING)
  await line.send(THING)
  release()
  await line.closed
  assert.deepEqual(
    line.answers().map((each) => [each.slice(9, 12), each.includes('Connection: close')]),
    [
      ['200', false],
      ['200', true],
    ],
  )
  assert.equal(anonymous(), 2)
})
