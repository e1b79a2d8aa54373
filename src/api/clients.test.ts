import assert from 'node:assert/strict'
import { test } from 'node:test'
import axios from 'axios'
import { Type } from 'typebox'
import { DAY_SECONDS, nextMidnight } from '#base/time.ts'
import { answer, defineRoute } from '#route.ts'
import { NOON_MS, startHarness } from '#test/http/api-harness.ts'
import { startLines } from '#test/http/lines-harness.ts'

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
  body: Type.Object({ note: Type.Optional(Type.String()) }),
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

test('two hosts are refused, and the connection ends', async (context) => {
  const { open, anonymous } = await startLines(context)
  for (const hosts of ['Host: x\r\nHost: y', 'Host: x\r\nhost: x', 'Host: x, y', 'Host: x y']) {
    const line = open()
    line.socket.write(`GET /api/thing HTTP/1.1\r\n${hosts}\r\n\r\n`)
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
  const dateOf = (unix: number) => new Date(unix * 1000).toUTCString()
  assert.deepEqual(await figures(), [dateOf(midnight - 1), midnight])
  // The day ends while the call works.
  world.outcome = async () => {
    nowMs = midnight * 1000
    return answer(200, { data: 'thing' })
  }
  assert.deepEqual(await figures(), [dateOf(midnight), midnight + DAY_SECONDS])
  await world.server.stop()
})
