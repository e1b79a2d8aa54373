import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import axios from 'axios'
import { Type } from 'typebox'
import { nextMidnight } from '#lib/time.ts'
import { answer, defineRoute } from '#route/route.ts'
import { get, KEYED, startLines, THING } from '#test/http/lines-harness.ts'
import { NOON_MS, startHarness } from '#test/http/pipeline-harness.ts'

/** A route whose body may be empty, as those that pay and revoke. */
const optional = defineRoute({
  method: 'POST',
  path: '/api/pay',
  operationId: 'pay',
  tag: 'Test',
  summary: 'Pays',
  description: 'For tests',
  metered: false,
  parameters: {},
  body: Type.Object({ note: Type.Optional(Type.String()) }, { additionalProperties: false }),
  answers: { 200: { description: 'Paid', schema: Type.Object({}) } },
  refusals: [],
  handle: async ({ body }) => answer(200, { data: body.note ?? 'none' }),
})

test('a POST without a body works with any Content-Type, such as the one that axios sends', async (context) => {
  const { world, open } = await startLines(context, { routes: [optional] })
  assert.deepEqual((await axios.post(`${world.origin}/api/pay`)).data, { data: 'none' })
  const noted = await axios.post(`${world.origin}/api/pay`, { note: 'mine' })
  assert.deepEqual(noted.data, { data: 'mine' })
  const { ask } = open()
  for (const type of [
    'application/json',
    'application/x-www-form-urlencoded',
    'text/plain',
    'x',
    '',
  ])
    for (const length of ['', 'Content-Length: 0\r\n']) {
      const head = `POST /api/pay HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\n${length}\r\n`
      assert.match(await ask(head), /^HTTP\/1\.1 200 /, type)
    }
})

test('a client that closes its side after a request gets the answer that it is charged for', async (context) => {
  const { world, holdThing } = await startLines(context)
  const release = holdThing('late')
  const half = (text: string) => {
    const socket = connect({ port: world.port, host: '127.0.0.1', allowHalfOpen: true })
    let received = ''
    socket.on('data', (chunk) => {
      received += String(chunk)
    })
    socket.end(text)
    return once(socket, 'end').then(() => {
      socket.destroy()
      return received
    })
  }
  const [one, two] = [half(THING), half(get('/api/thing', KEYED) + THING)]
  while (world.log.filter((each) => each === 'work').length < 2) await setImmediate()
  for (let turn = 0; turn < 3; turn += 1) await fetch(`${world.origin}/nowhere`)
  release()
  assert.match(await one, /^HTTP\/1\.1 200 .*\r\nConnection: close\r\n.*late/s)
  const both = (await two).split(/(?=HTTP\/1\.1 \d)/)
  assert.deepEqual(
    both.map((each) => [each.slice(9, 12), each.includes('Connection: close')]),
    [
      ['200', false],
      ['200', true],
    ],
  )
  const posted = await half(
    'POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"text":"a"}',
  )
  assert.match(posted, /^HTTP\/1\.1 201 /)
  assert.match(await half('GET /api/thing HTT'), /^HTTP\/1\.1 400 /)
})

test('two hosts are refused, and nothing behind them is looked at', async (context) => {
  const { open, anonymous } = await startLines(context)
  for (const hosts of ['Host: x\r\nHost: y', 'Host: x\r\nhost: x', 'Host: x, y', 'Host: x y']) {
    const line = open()
    line.socket.write(`GET /api/thing HTTP/1.1\r\n${hosts}\r\n\r\n${THING}`)
    await line.closed
    assert.deepEqual(line.statuses(), [400], hosts)
    assert.match(line.answers()[0] ?? '', /"error":"invalid_parameter"/)
  }
  assert.equal(anonymous(), undefined)
})

test('the reset is always after the date of its answer, also where the day ends between them', async () => {
  const midnight = nextMidnight(NOON_MS / 1000)
  let nowMs = midnight * 1000 - 1
  const world = await startHarness({ clock: () => nowMs })
  const figures = async () => {
    const { headers } = await fetch(`${world.origin}/api/thing`)
    assert.match(headers.get('ratelimit') ?? '', /t=[1-9]\d*$/)
    return [headers.get('date'), Number(headers.get('x-ratelimit-reset'))] as const
  }
  const last = new Date(midnight * 1000 - 1000).toUTCString()
  assert.deepEqual(await figures(), [last, midnight])
  // The meter of the harness still counts the day that has just ended.
  nowMs += 1
  assert.deepEqual(await figures(), [last, midnight])
  await world.server.stop()
})
