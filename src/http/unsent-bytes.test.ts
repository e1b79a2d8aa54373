import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { GENEROUS, get, startLines } from '#api/lines-harness.ts'
import type { Page } from '#api/outside-routes.ts'
import { staticPage } from '#api/static-page.ts'
import { answer } from '#route/route.ts'
import type { UnsentLimits } from './unsent-bytes.ts'

/** More than the kernel takes for one socket. */
const MUCH = 10_000_000

/** Asks for answers of a size and reads nothing of them. */
async function startUnread(
  context: TestContext,
  unsentLimits: Partial<UnsentLimits>,
  pages: readonly Page[] = [],
) {
  const page = staticPage({ path: '/page', contentType: 'text/plain', text: 'x'.repeat(MUCH) })
  const lines = await startLines(context, {
    ...GENEROUS,
    unsentLimits,
    pages: [page, ...pages],
    addressBucket: (address, headers) => headers['x-forwarded-for']?.toString() ?? address,
  })
  const ask = async (client: string, bytes: number, target = '/api/thing') => {
    lines.world.outcome = async () => answer(200, { data: 'x'.repeat(bytes) })
    const line = lines.open()
    line.socket.pause()
    await line.send(get(target, `X-Forwarded-For: ${client}\r\n`))
    return line
  }
  return { ...lines, ask }
}

/** Whether the server has closed a socket, as far as the client can see. */
async function isClosed({ socket }: { readonly socket: import('node:net').Socket }) {
  socket.resume()
  const closed = once(socket, 'close').then(() => true)
  for (let turn = 0; turn < 200 && !socket.destroyed; turn += 1) await setImmediate()
  return socket.destroyed ? closed : false
}

test('G3: of a client that reads nothing, the largest unsent answer is closed first and stays charged', async (context) => {
  const { world, ask } = await startUnread(context, { perClient: 3.5 * MUCH })
  const lines = [await ask('a', MUCH), await ask('a', 2 * MUCH), await ask('b', MUCH)]
  assert.deepEqual(
    lines.map(({ socket }) => socket.destroyed),
    [false, false, false],
  )
  const last = await ask('a', MUCH)
  const [first, largest, other] = lines
  assert.ok(first && largest && other)
  assert.equal(await isClosed(largest), true)
  for (const line of [first, other, last]) {
    line.socket.resume()
    while (line.socket.bytesRead < MUCH) await once(line.socket, 'data')
  }
  assert.deepEqual([world.counts.get('a'), world.counts.get('b')], [3, 1])
})

test('G3: of all clients the one that holds most is closed first', async (context) => {
  const { ask } = await startUnread(context, { total: 3.5 * MUCH })
  const [small, large] = [await ask('a', MUCH), await ask('b', 2 * MUCH)]
  const next = await ask('c', MUCH)
  assert.equal(await isClosed(large), true)
  assert.deepEqual([await isClosed(small), await isClosed(next)], [false, false])
})

test('G3: many sockets of one address that hold a little each are closed before one reader of another', async (context) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const held: Page = {
    path: '/held',
    read: () => promise.then(() => ({ status: 200, headers: [], body: '' })),
  }
  const { world, ask, open } = await startUnread(context, { total: 2 * MUCH }, [held])
  const reader = await ask('reader', MUCH)
  world.outcome = async () => answer(200, { data: 'x'.repeat(MUCH / 100) })
  const hoarders = Array.from({ length: 200 }, () => open({ localAddress: '127.0.0.2' }))
  let closed = 0
  for (const { socket } of hoarders) {
    socket.once('close', () => closed++)
    // The second answer waits behind the first, so that none of it is sent.
    socket.write(get('/held') + get())
  }
  // Room is left for just under a hundred of them.
  while (closed < 101) await setImmediate()
  reader.socket.resume()
  while (reader.socket.bytesRead < MUCH) await once(reader.socket, 'data')
  assert.ok(closed < 120, `${closed} were closed`)
  assert.deepEqual([world.counts.get('127.0.0.2'), world.counts.get('reader')], [200, 1])
  resolve()
})

test('G3: pipelined answers count from the moment at which they are made', async (context) => {
  const { world, open } = await startUnread(context, { perClient: 3.5 * MUCH })
  world.outcome = async () => answer(200, { data: 'x'.repeat(MUCH) })
  const line = open()
  line.socket.pause()
  await line.send(get().repeat(8))
  assert.equal(await isClosed(line), true)
})

test('G3: a document is shared by all answers and counts for no client', async (context) => {
  const { ask } = await startUnread(context, { perClient: MUCH, total: MUCH })
  const lines = []
  for (let time = 0; time < 5; time += 1) lines.push(await ask('a', 0, '/page'))
  for (const { socket } of lines) {
    socket.resume()
    while (socket.bytesRead < MUCH) await once(socket, 'data')
  }
})

test('a document is made once, whoever asks', async () => {
  const page = staticPage({ path: '/page', contentType: 'text/plain', text: 'x'.repeat(2_000) })
  const read = async (coding: string) => {
    const outcome = await page.read({
      ...{ requestId: '1', method: 'GET', socketAddress: '', path: {}, query: new Map() },
      ...{ body: undefined, signal: AbortSignal.abort(), isCut: () => false },
      headers: { 'accept-encoding': coding },
    })
    assert.ok('body' in outcome && outcome.body instanceof Uint8Array)
    return outcome.body
  }
  for (const coding of ['br', 'gzip', 'identity'])
    assert.equal(await read(coding), await read(coding), coding)
})
