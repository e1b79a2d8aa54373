import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { answer } from '#route/route.ts'
import { GENEROUS, startLines, THING } from '#test/http/lines-harness.ts'

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
