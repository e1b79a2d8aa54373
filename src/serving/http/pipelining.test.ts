import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { answer } from '#route/route.ts'
import { GENEROUS, get, KEYED, startLines, THING } from '#test/http/lines-harness.ts'

/** An answer without what differs from call to call. */
const steady = (text: string) =>
  text
    .replace(/request-\d+/g, 'id')
    .replace(/Date: .*/, 'Date')
    .replace(/(Remaining: |r=)\d+/g, '$1n')

test('a request that is repeated is answered alike and counted each time', async (context) => {
  const { world, open } = await startLines(context)
  const { ask } = open()
  await ask(THING)
  world.counts.clear()
  const first = await ask(THING)
  const others = [await ask(THING), await ask(THING), await ask(THING), await ask(THING)]
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
})

test('whatever a GET asks for, the second time it means the same', async (context) => {
  const { world, open } = await startLines(context)
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
    const again = await ask(request)
    assert.equal(Number(again.slice(9, 12)), status, request)
    assert.equal(steady(again), steady(first), request)
  }
})

test('an unusual request means the same each time', async (context) => {
  const { world, open } = await startLines(context)
  const old = get('/api/thing', 'Connection: keep-alive\r\n').replace('1.1', '1.0')
  for (const [request, status] of [
    [get('/nowhere'), 404],
    [THING.replace('GET', 'HEAD'), 200],
    [old, 200],
    [get('/api/thing', `X: ${'x'.repeat(2_100)}\r\n`), 200],
  ] as const) {
    const { ask } = open()
    await ask(THING)
    for (let time = 0; time < 3; time += 1) {
      world.counts.clear()
      assert.equal(Number((await ask(request)).slice(9, 12)), status, request)
    }
  }
})

test('a request that ends its connection ends it each time', async (context) => {
  const { open } = await startLines(context, GENEROUS)
  for (const header of ['Connection: close', 'Proxy-Connection: close', 'Upgrade: h2c'])
    for (let time = 0; time < 3; time += 1) {
      const line = open()
      await line.ask(THING)
      const last = await line.ask(get('/api/thing', `${header}\r\n`))
      assert.match(last, /\r\nConnection: close\r\n/, header)
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

test('a server that stops answers every request that it has read, and the last answer ends the connection', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const { world, open, anonymous, holdThing } = await startLines(context, GENEROUS)
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
  line.socket.write(THING + THING)
  for (let turn = 0; turn < 100; turn += 1) await setImmediate()
  assert.equal(anonymous(), undefined)
  for (let passed = 0; passed < 18; passed += 2) context.mock.timers.tick(2_000)
  release()
  await Promise.all([stopped, line.closed])
  const late = line.answers().slice(2)
  assert.deepEqual(
    late.map((each) => [each.includes('late'), each.includes('\r\nConnection: close\r\n')]),
    [
      [true, false],
      [true, false],
      [true, false],
      [true, true],
    ],
  )
  assert.equal(anonymous(), 4)
})

test('G3: a socket is not idle while a request of it is being answered', async (context) => {
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

/** Has a request answered with more than a socket holds at once, and reads nothing of it. */
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

test('a slow reader gets the whole of his answer', async (context) => {
  const { line, sweep, readAll } = await askForMuch(context)
  sweep(30)
  await readAll()
  sweep(14)
  await line.closed
})

test('a server that stops lets a slow reader have the whole answer', async (context) => {
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

test('a client that leaves is reported to its handler, and no listener stays behind', async (context) => {
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
  line.socket.destroy()
  await promise
})

/** A body as long as the longest series. */
const LONG = 'x'.repeat(700_000)

/** What the kernel holds of one socket is some megabytes. */
const IN_KERNEL_MAX = 24

/** Sends calls in one write, and counts what is charged and handed to the socket. */
async function pipeline(context: TestContext, calls: number) {
  const { world, open, anonymous } = await startLines(context, GENEROUS)
  world.outcome = async () => answer(200, { data: LONG })
  const line = open()
  line.socket.pause()
  line.socket.write(get().repeat(calls))
  return { line, anonymous }
}

for (const calls of [40, 100]) {
  test(`${calls} pipelined calls that are read fast are answered and charged`, async (context) => {
    const { line, anonymous } = await pipeline(context, calls)
    line.socket.resume()
    while (line.socket.bytesRead < calls * LONG.length) await once(line.socket, 'data')
    assert.deepEqual(line.statuses(), Array(calls).fill(200))
    assert.equal(anonymous(), calls)
  })

  test(`${calls} pipelined calls that are read slowly are charged one at a time`, async (context) => {
    const { line, anonymous } = await pipeline(context, calls)
    let read = 0
    while (read < calls * LONG.length) {
      const chunk: Buffer | null = line.socket.read()
      read += chunk?.length ?? 0
      for (let turn = 0; turn < 3; turn += 1) await setImmediate()
      assert.ok((anonymous() ?? 0) <= read / LONG.length + IN_KERNEL_MAX)
    }
    assert.equal(anonymous(), calls)
  })

  test(`of ${calls} pipelined calls that nobody reads only those are charged that were handed to the socket`, async (context) => {
    const { line, anonymous } = await pipeline(context, calls)
    for (let turn = 0; turn < 500; turn += 1) await setImmediate()
    const charged = anonymous() ?? 0
    assert.ok(charged <= IN_KERNEL_MAX, `${charged} were charged`)
    line.socket.destroy()
    for (let turn = 0; turn < 500; turn += 1) await setImmediate()
    assert.equal(anonymous(), charged)
  })
}

test('a pipeline whose answers flow is not cut, however slow each of them is', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const { world, open } = await startLines(context, GENEROUS)
  const line = open()
  const releases: (() => void)[] = []
  world.outcome = async () => {
    await new Promise<void>((resolve) => releases.push(resolve))
    return answer(200, { data: 'slow' })
  }
  await line.send(THING.repeat(4))
  for (let answered = 1; answered <= 4; answered += 1) {
    for (let passed = 0; passed < 40; passed += 2) context.mock.timers.tick(2_000)
    releases.shift()?.()
    while (line.answers().length < answered) await once(line.socket, 'data')
    while (answered < 4 && releases.length === 0) await setImmediate()
  }
  assert.deepEqual(line.statuses(), [200, 200, 200, 200])
})

test('a connection that goes on to send behind a full line is closed, and its calls cost nothing', async (context) => {
  const { open, anonymous, holdThing } = await startLines(context, GENEROUS)
  const release = holdThing('late')
  const line = open()
  line.socket.write(THING.repeat(300))
  await line.closed
  release()
  for (let turn = 0; turn < 20; turn += 1) await setImmediate()
  assert.equal(anonymous(), undefined)
})
