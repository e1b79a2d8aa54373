import assert from 'node:assert/strict'
import { once } from 'node:events'
import { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { ApiDeps } from '#api/create-api.ts'
import { GOOD_KEY, startHarness } from '#api/pipeline-harness.ts'
import { answer } from '#http/route.ts'

const get = (target = '/api/thing', more = '') => `GET ${target} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
const THING = get()
const KEYED = `Authorization: Bearer ${GOOD_KEY}\r\n`

/** A server, and how many of its answers Node wrote. */
async function start(context: TestContext, more: Partial<ApiDeps> = {}) {
  const world = await startHarness(more)
  const { mock } = context.mock.method(ServerResponse.prototype, 'writeHead')
  const sockets: { destroy(): void }[] = []
  context.after(async () => {
    for (const socket of sockets) socket.destroy()
    await world.server.stop()
  })
  const open = (options = {}) => {
    const socket = connect({ port: world.port, host: '127.0.0.1', noDelay: true, ...options })
    socket.on('error', () => undefined)
    sockets.push(socket)
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      text += chunk
    })
    const answers = () => text.split(/(?=HTTP\/1\.1 \d)/).filter((each) => each !== '')
    return {
      ...{ socket, closed, answers },
      statuses: () => answers().map((each) => Number(each.slice(9, 12))),
      /** Sends bytes, which are read by the time of the answer to a request elsewhere. */
      async send(bytes: string | Buffer) {
        socket.write(bytes)
        for (let turn = 0; turn < 3; turn += 1) await fetch(`${world.origin}/nowhere`)
      },
      /** Sends one request and gives its answer. */
      async ask(request: string): Promise<string> {
        const before = answers().length
        socket.write(request)
        while (answers().length === before) await once(socket, 'data')
        return answers().at(-1) ?? ''
      },
    }
  }
  return {
    world,
    open,
    byNode: () => mock.callCount(),
    anonymous: () => world.counts.get('127.0.0.1'),
  }
}

/** Anonymous callers with more calls than a test needs. */
const GENEROUS: Partial<ApiDeps> = {
  anonymous: (bucket) => ({
    ...{ kind: 'anonymous', identity: `ip:${bucket}`, bucket, tier: 'anonymous' },
    dailyQuota: 1_000,
  }),
}

/** An answer without what differs from call to call. */
const steady = (text: string) =>
  text
    .replace(/request-\d+/g, 'id')
    .replace(/Date: .*/, 'Date')
    .replace(/(Remaining: |r=)\d+/g, '$1n')

test('a request that comes again is answered as it was, past the parser of Node, and counted each time', async (context) => {
  const { world, open, byNode } = await start(context)
  const { ask } = open()
  await ask(THING)
  world.counts.clear()
  const first = await ask(THING)
  const read = byNode()
  const others = [await ask(THING), await ask(THING), await ask(THING), await ask(THING)]
  assert.equal(byNode(), read)
  assert.deepEqual(
    others.map((each) => Number(each.slice(9, 12))),
    [200, 200, 402, 402],
  )
  assert.deepEqual(
    [first, ...others].map((each) => /X-RateLimit-Remaining: (\d)/.exec(each)?.[1]),
    ['2', '1', '0', '0', '0'],
  )
  assert.equal(steady(others[0] ?? ''), steady(first))
  assert.equal(new Set([first, ...others].map((each) => /request-\d+/.exec(each)?.[0])).size, 5)
  const elsewhere = open()
  await elsewhere.ask(get('/nowhere'))
  await elsewhere.ask(THING)
  assert.equal(byNode(), read + 1)
})

test('whatever a GET asks for, the second time it means the same', async (context) => {
  const { world, open, byNode } = await start(context)
  const { ask } = open()
  await ask(get('/nowhere'))
  const tag = /ETag: (.*)\r\n/.exec(await ask(THING))?.[1]
  for (const [request, status] of [
    [get('/api/thing', KEYED), 200],
    [get('/api/thing?limit=2'), 200],
    [get('/api/thing?limit=0'), 400],
    [get('/api/thing/some'), 200],
    [get('/api/thing', `If-None-Match: ${tag}\r\n`), 304],
    [get('/api/thing', 'Authorization: Bearer nobody\r\n'), 401],
    [get('/api/thing', 'connection: Keep-Alive\r\n'), 200],
  ] as const) {
    world.counts.clear()
    const first = await ask(request)
    const read = byNode()
    const again = await ask(request)
    assert.equal(byNode(), read, request)
    assert.equal(Number(again.slice(9, 12)), status, request)
    assert.equal(steady(again), steady(first), request)
  }
})

test('what is unusual is read by Node each time', async (context) => {
  const { world, open, byNode } = await start(context)
  for (const request of [
    get('/nowhere'),
    THING.replace('GET', 'HEAD'),
    get('/api/thing', 'Expect: 100-continue\r\n'),
    get('/api/thing', 'Upgrade: h2c\r\n'),
    get('/api/thing', 'Connection: Upgrade\r\n'),
    get('/api/thing', 'Connection: keep-alive\r\n').replace('1.1', '1.0'),
    get('/api/thing', `X: ${'x'.repeat(2_100)}\r\n`),
  ]) {
    const { ask } = open()
    world.counts.clear()
    await ask(THING)
    for (let time = 0; time < 3; time += 1) {
      const read = byNode()
      await ask(request)
      assert.equal(byNode(), read + 1, request)
    }
  }
})

test('G7: the bytes of a known request are a request only between two requests', async (context) => {
  const { world, open, anonymous } = await start(context)
  const { ask } = open()
  await ask(THING)
  await ask(THING)
  const inBody = `POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${THING.length}\r\n\r\n`
  const inChunk = `POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${THING.length.toString(16)}\r\n`
  const inUnread = `POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: ${THING.length}\r\n\r\n`
  for (const [before, after, statuses] of [
    [inUnread, '', [200, 404]],
    [inBody, '', [200, 400]],
    [inChunk, '\r\n0\r\n\r\n', [200, 400]],
    ['GET /api/thing HTTP/1.1\r\nX: ', '', [200, 200]],
    ['GET /api/thing HTTP/1.1\r\nHost: y\r\nX: ', '', [200, 200]],
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

test('E8: answers leave in the order of their requests, whoever reads them', async (context) => {
  const { world, open } = await start(context, GENEROUS)
  for (const slow of [THING, get('/api/thing?limit=7')]) {
    const { ask, send, answers, statuses, socket } = open()
    await ask(THING)
    await ask(THING)
    const { promise, resolve } = Promise.withResolvers<void>()
    world.outcome = async () => {
      await promise
      return answer(200, { data: 'slow' })
    }
    await send(slow)
    world.outcome = async () => answer(200, { data: 'quick' })
    await send(THING)
    await send(get('/nowhere'))
    await send(THING + get('/api/thing', KEYED))
    await send(`${THING}garbage\r\n\r\n`)
    assert.equal(answers().length, 2)
    resolve()
    await once(socket, 'close')
    assert.deepEqual(statuses().slice(2), [200, 200, 404, 200, 200, 200])
    assert.match(answers()[2] ?? '', /slow/)
    assert.match(answers()[3] ?? '', /quick/)
    world.counts.clear()
  }
})

test('a connection has as many requests as it may have, and the last answer says so', async (context) => {
  const { world, open } = await start(context, { connectionLimits: { requestsPerSocket: 4 } })
  const line = open()
  for (let time = 0; time < 6; time += 1) await line.send(get('/api/thing', KEYED))
  await line.closed
  assert.deepEqual(line.statuses(), [200, 200, 200, 200])
  assert.deepEqual(
    line.answers().map((each) => each.includes('Connection: close')),
    [false, false, false, true],
  )
  assert.deepEqual([...world.counts.values()], [4])
})

test('a known request is answered by a server that stops, and nothing behind it is looked at', async (context) => {
  const { world, open, anonymous } = await start(context)
  const line = open()
  await line.ask(THING)
  await line.ask(THING)
  world.counts.clear()
  const { promise, resolve } = Promise.withResolvers<void>()
  world.outcome = async () => {
    await promise
    return answer(200, { data: 'late' })
  }
  const silent = open()
  await line.send(THING)
  await line.send(THING)
  const stopped = world.server.stop()
  await silent.closed
  await assert.rejects(fetch(`${world.origin}/nowhere`))
  resolve()
  await Promise.all([stopped, line.closed])
  assert.equal(line.answers().length, 3)
  assert.match(line.answers()[2] ?? '', /\r\nConnection: close\r\n.*late/s)
  assert.equal(anonymous(), 1)
})

test('G3: a socket is not idle while a known request of it is being answered', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const { world, open } = await start(context)
  const line = open()
  await line.ask(THING)
  await line.ask(THING)
  const { promise, resolve } = Promise.withResolvers<void>()
  world.outcome = async () => {
    await promise
    return answer(200, { data: 'late' })
  }
  await line.send(THING)
  const pass = async (seconds: number) => {
    context.mock.timers.tick(seconds * 1_000)
    for (let turn = 0; turn < 10; turn += 1) await setImmediate()
  }
  await pass(30)
  assert.equal(line.socket.closed, false)
  resolve()
  while (line.answers().length < 3) await setImmediate()
  context.mock.timers.tick(14_000)
  await line.closed
})

test('who goes away during a known request is told to its handler, and no listener stays behind', async (context) => {
  const { world, open } = await start(context)
  const line = open()
  const signals: AbortSignal[] = []
  world.outcome = async (signal) => {
    signals.push(signal)
    world.counts.clear()
    return answer(200, { data: 'quick' })
  }
  const warned = context.mock.method(process, 'emitWarning')
  for (let time = 0; time < 30; time += 1) await line.ask(THING)
  assert.equal(warned.mock.callCount(), 0)
  assert.ok(signals.slice(2).every((signal) => !signal.aborted))
  const { promise, resolve } = Promise.withResolvers<void>()
  world.outcome = (signal) => {
    signal.addEventListener('abort', () => resolve())
    return promise.then(() => answer(200, { data: 'nobody reads it' }))
  }
  await line.send(THING)
  await line.send(THING)
  const before = world.log.length
  line.socket.destroy()
  await promise
  for (let turn = 0; turn < 10; turn += 1) await setImmediate()
  assert.equal(world.log.length, before)
})

test('G3: during a known request no more is read than one piece', async (context) => {
  const { world, open } = await start(context)
  const line = open()
  await line.ask(THING)
  await line.ask(THING)
  const { promise, resolve } = Promise.withResolvers<void>()
  world.outcome = async () => {
    await promise
    return answer(200, { data: 'slow' })
  }
  await line.send(THING)
  await line.send(Buffer.alloc(64_000_000, '\r\n'))
  await line.send('')
  assert.ok(line.socket.writableLength > 0)
  resolve()
  while (line.socket.writableLength > 0) await setImmediate()
})

test('G3: who reads nothing is not answered without end', async (context) => {
  const { world, open } = await start(context, GENEROUS)
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

test('CONNECT behind known requests ends the connection, and nothing more of it is read', async (context) => {
  const { open } = await start(context, GENEROUS)
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
    const { world, open } = await start(context, GENEROUS)
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
