import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Type } from 'typebox'
import { defineRoute } from '#route/route.ts'
import { startLines } from '#test/http/lines-harness.ts'
import { harnessParts, NOON_MS } from '#test/http/pipeline-harness.ts'

const stream = defineRoute({
  ...{
    method: 'GET',
    path: '/api/stream',
    operationId: 'stream',
    tag: 'Test',
    summary: 'A stream',
  },
  ...{ description: 'For tests', metered: true, stream: true, parameters: {}, refusals: [] },
  answers: { 200: { description: 'Beats', schema: Type.Object({}) } },
  handle: async () => ({
    kind: 'stream',
    contentType: 'text/event-stream',
    async *open(signal) {
      for (; !signal.aborted; await turn()) yield ': beat\n\n'
    },
  }),
})

test('each started minute of a stream is charged, until its caller can pay no more', async (context) => {
  const { deps } = harnessParts()
  const now = { ms: NOON_MS }
  const charged: string[] = []
  const { open } = await startLines(context, {
    routes: [stream],
    clock: () => now.ms,
    meter: {
      ...deps.meter,
      admit: async (caller) => {
        charged.push(caller.bucket)
        return deps.meter.admit(caller)
      },
    },
  })
  const line = open()
  let text = ''
  line.socket.on('data', (chunk: Buffer) => {
    text += chunk
  })
  line.socket.write('GET /api/stream HTTP/1.1\r\nHost: x\r\n\r\n')
  while (!text.includes(': beat')) await turn()
  for (let minute = 0; !text.includes('event: end'); minute += 1) {
    assert.ok(minute < 4, 'the stream goes on without a charge')
    now.ms += 60_000
    while (charged.length < minute + 2) await turn()
    for (let turns = 0; turns < 20; turns += 1) await turn()
  }
  assert.deepEqual(charged, Array(4).fill('127.0.0.1'))
})
