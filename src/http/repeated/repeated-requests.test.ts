import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { GENEROUS, get, KEYED, startLines, THING } from '#api/lines-harness.ts'
import { answer } from '#http/route.ts'

/** An answer without what differs from call to call. */
const steady = (text: string) =>
  text
    .replace(/request-\d+/g, 'id')
    .replace(/Date: .*/, 'Date')
    .replace(/(Remaining: |r=)\d+/g, '$1n')

test('a request that comes again is answered as it was, past the parser of Node, and counted each time', async (context) => {
  const { world, open, byNode } = await startLines(context)
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
  const { world, open, byNode } = await startLines(context)
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
    [get('/api/thing', 'Connection: Upgrade\r\n'), 200],
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
  const { world, open, byNode } = await startLines(context)
  for (const request of [
    get('/nowhere'),
    THING.replace('GET', 'HEAD'),
    get('/api/thing', 'Expect: 100-continue\r\n'),
    get('/api/thing', 'Upgrade: h2c\r\n'),
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

test('a request that ends its connection ends it each time', async (context) => {
  const { open } = await startLines(context, GENEROUS)
  for (const name of ['Connection', 'Proxy-Connection'])
    for (let time = 0; time < 3; time += 1) {
      const line = open()
      await line.ask(THING)
      const last = await line.ask(get('/api/thing', `${name}: close\r\n`))
      assert.match(last, /\r\nConnection: close\r\n/, name)
      await line.closed
    }
})

test('a connection has as many requests as it may have, and the last answer says so', async (context) => {
  const { world, open } = await startLines(context, { connectionLimits: { requestsPerSocket: 4 } })
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
  context.mock.timers.enable({ apis: ['setInterval'] })
  const { world, open, anonymous, holdThing } = await startLines(context)
  const line = open()
  await line.ask(THING)
  await line.ask(THING)
  world.counts.clear()
  const release = holdThing('late')
  const silent = open()
  await line.send(THING)
  await line.send(THING)
  const stopped = world.server.stop()
  await silent.closed
  await assert.rejects(fetch(`${world.origin}/nowhere`))
  for (let passed = 0; passed < 18; passed += 2) context.mock.timers.tick(2_000)
  release()
  await Promise.all([stopped, line.closed])
  assert.equal(line.answers().length, 3)
  assert.match(line.answers()[2] ?? '', /\r\nConnection: close\r\n.*late/s)
  assert.equal(anonymous(), 1)
})

test('G3: a socket is not idle while a known request of it is being answered', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const { open, holdThing } = await startLines(context)
  const line = open()
  await line.ask(THING)
  await line.ask(THING)
  const release = holdThing('late')
  await line.send(THING)
  const pass = async (seconds: number) => {
    context.mock.timers.tick(seconds * 1_000)
    for (let turn = 0; turn < 10; turn += 1) await setImmediate()
  }
  await pass(30)
  assert.equal(line.socket.closed, false)
  release()
  while (line.answers().length < 3) await setImmediate()
  context.mock.timers.tick(14_000)
  await line.closed
})

/** Has a known request answered with more than a socket holds at once, and reads nothing of it. */
async function askForMuch(context: TestContext) {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const { world, open } = await startLines(context)
  const line = open()
  await line.ask(THING)
  await line.ask(THING)
  world.outcome = async () => answer(200, { data: 'x'.repeat(30_000_000) })
  line.socket.pause()
  await line.send(THING)
  const sweep = (seconds: number) => {
    for (let passed = 0; passed < seconds; passed += 2) context.mock.timers.tick(2_000)
  }
  const readAll = async () => {
    line.socket.resume()
    while (line.socket.bytesRead < 30_000_000) await once(line.socket, 'data')
  }
  return { world, line, sweep, readAll }
}

test('a known request is answered to the end to who reads slowly', async (context) => {
  const { line, sweep, readAll } = await askForMuch(context)
  sweep(30)
  await readAll()
  sweep(14)
  await line.closed
})

test('a server that stops lets a slow reader have his answer', async (context) => {
  const { world, line, sweep, readAll } = await askForMuch(context)
  const stopped = world.server.stop()
  await setImmediate()
  sweep(18)
  await readAll()
  sweep(2)
  await Promise.all([stopped, line.closed])
})

test('G3: a server that stops waits for nobody without end', async (context) => {
  const { world, line, sweep } = await askForMuch(context)
  const stopped = world.server.stop()
  await setImmediate()
  sweep(20)
  await stopped
  line.socket.resume()
  await line.closed
})

test('who goes away during a known request is told to its handler, and no listener stays behind', async (context) => {
  const { world, open } = await startLines(context)
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
