import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { answer } from '#route/route.ts'
import { GENEROUS, get, KEYED, startLines, THING } from '#test/http/lines-harness.ts'

test('G7: the bytes of a request are a request only between two requests', async (context) => {
  const { world, open, anonymous } = await startLines(context)
  const inBody = `POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${THING.length}\r\n\r\n`
  const inChunk = `POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${THING.length.toString(16)}\r\n`
  const inUnread = `POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: ${THING.length}\r\n\r\n`
  for (const [before, after, statuses] of [
    [inUnread, '', [200, 404]],
    [inBody, '', [200, 400]],
    [inChunk, '\r\n0\r\n\r\n', [200, 400]],
    ['GET /api/thing HTTP/1.1\r\nX: ', '', [200, 200]],
    ['GET /api/thing HTTP/1.1\r\nHost: y\r\nX: ', '', [200, 400]],
    ['\r\n', '', [200, 200]],
    ['G', '', [200, 405]],
    [`${THING}G`, '', [200, 200, 405]],
    [
      `${THING}POST /api/thing HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n`,
      '',
      [200, 200, 405],
    ],
  ] as const) {
    world.counts.clear()
    const line = open()
    await line.ask(THING)
    await line.send(before)
    await line.send(THING)
    await line.send(after)
    while (line.answers().length < statuses.length) await setImmediate()
    await line.send('')
    assert.deepEqual(line.statuses(), statuses, before)
    const charged = statuses.filter((status) => status === 200).length
    assert.equal(anonymous(), charged, before)
  }
})

test('E8: answers leave in the order of their requests', async (context) => {
  const { world, open, holdThing } = await startLines(context, GENEROUS)
  for (const slow of [THING, get('/api/thing?limit=7')]) {
    const { ask, send, answers, statuses, socket } = open()
    await ask(THING)
    await ask(THING)
    const release = holdThing('slow')
    await send(slow)
    world.outcome = async () => answer(200, { data: 'quick' })
    await send(THING)
    await send(get('/nowhere'))
    await send(THING + get('/api/thing', KEYED))
    await send(`${THING}garbage\r\n\r\n`)
    assert.equal(answers().length, 2)
    release()
    await once(socket, 'close')
    assert.deepEqual(statuses().slice(2), [200, 200, 404, 200, 200, 200])
    assert.match(answers()[2] ?? '', /slow/)
    assert.match(answers()[3] ?? '', /quick/)
    world.counts.clear()
  }
})

test('G3: a client that reads nothing is not answered without end', async (context) => {
  const { world, open } = await startLines(context, GENEROUS)
  const line = open()
  await line.ask(THING)
  await line.ask(THING)
  let worked = 0
  world.outcome = async () => {
    worked += 1
    return answer(200, { data: 'x'.repeat(1_000_000) })
  }
  line.socket.pause()
  for (let time = 0; time < 60; time += 1) await line.send(THING)
  assert.ok(worked > 1 && worked < 40, `${worked} answers of 1 MB`)
  line.socket.resume()
  while (worked < 60) await setImmediate()
})

test('CONNECT behind other requests ends the connection, and nothing more of it is read', async (context) => {
  const { open } = await startLines(context, GENEROUS)
  const line = open({ allowHalfOpen: true })
  await line.ask(THING)
  await line.ask(THING)
  await line.send('CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n')
  assert.deepEqual(line.statuses(), [200, 200, 405])
  // Node gives the parser of a socket that is no longer one of HTTP to the next one that opens.
  const next = open()
  await next.ask(THING)
  await line.send('garbage\r\n\r\n')
  for (let time = 0; time < 2; time += 1) await next.ask(get('/api/thing?limit=8'))
  assert.deepEqual(next.statuses(), [200, 200, 200])
  assert.equal(line.answers().length, 3)
})

/** A small deterministic generator (mulberry32). */
function random(seed: number) {
  let state = seed
  return (below: number) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const KINDS = [
  { text: THING, status: 200 },
  { text: get('/api/thing?limit=0'), status: 400 },
  { text: get('/api/thing/some'), status: 200 },
  { text: get('/nowhere'), status: 404 },
  {
    text: `POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${THING.length}\r\n\r\n${THING}`,
    status: 400,
  },
  {
    text: 'POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"text":"a"}',
    status: 201,
  },
  { text: THING.replace('GET', 'OPTIONS'), status: 204 },
] as const

for (const seed of [1, 2, 3])
  test(`however requests are cut into pieces, each is answered once and in its turn (seed ${seed})`, async (context) => {
    const { world, open } = await startLines(context, GENEROUS)
    const below = random(seed)
    for (let round = 0; round < 12; round += 1) {
      const line = open()
      const expected: number[] = []
      for (let step = 0; step < 12; step += 1) {
        const kinds = Array.from(
          { length: 1 + below(2) },
          () => KINDS[below(3) > 0 ? 0 : below(KINDS.length)],
        )
        const text = kinds.map((kind) => kind?.text).join('')
        expected.push(...kinds.map((kind) => kind?.status ?? 0))
        const cut = below(4) === 0 ? 1 + below(text.length - 1) : text.length
        line.socket.write(text.slice(0, cut))
        if (below(2) === 0) await setImmediate()
        if (cut < text.length) {
          if (below(2) === 0) await fetch(`${world.origin}/nowhere`)
          line.socket.write(text.slice(cut))
        }
        if (below(3) > 0)
          while (line.answers().length < expected.length) await once(line.socket, 'data')
      }
      while (line.answers().length < expected.length) await once(line.socket, 'data')
      assert.deepEqual(line.statuses(), expected)
      line.socket.destroy()
    }
  })
