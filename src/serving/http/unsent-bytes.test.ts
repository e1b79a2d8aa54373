import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { answer } from '#route/route.ts'
import type { Page } from '#serving/api/outside-routes.ts'
import { staticPage } from '#serving/api/static-page.ts'
import { GENEROUS, get, startLines } from '#test/http/lines-harness.ts'
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
  const peer = { address: '192.0.2.1' }
  const lines = await startLines(context, {
    ...GENEROUS,
    unsentLimits,
    pages: [page, ...pages],
    addressBucket: (_, headers) => headers['x-forwarded-for']?.toString() ?? peer.address,
  })
  const ask = async (client: string, bytes: number, target = '/api/thing') => {
    lines.world.outcome = async () => answer(200, { data: 'x'.repeat(bytes) })
    const line = lines.open()
    line.socket.pause()
    await line.send(get(target, `X-Forwarded-For: ${client}\r\n`))
    return line
  }
  return { ...lines, ask, peer }
}

/** Whether the server has closed a socket, as far as the client can see. */
async function isClosed({ socket }: { readonly socket: import('node:net').Socket }) {
  socket.resume()
  const closed = once(socket, 'close').then(() => true)
  for (let turn = 0; turn < 200 && !socket.destroyed; turn += 1) await setImmediate()
  return socket.destroyed ? closed : false
}

test('G3: beyond the total, the oldest answer of an address is cut off first and stays charged', async (context) => {
  const { world, ask } = await startUnread(context, { total: 3.5 * MUCH })
  const [first, second] = [await ask('a', MUCH), await ask('b', 2 * MUCH)]
  const last = await ask('c', MUCH)
  assert.equal(await isClosed(first), true)
  for (const line of [second, last]) {
    line.socket.resume()
    while (line.socket.bytesRead < MUCH) await once(line.socket, 'data')
  }
  assert.deepEqual(
    ['a', 'b', 'c'].map((each) => world.counts.get(each)),
    [1, 1, 1],
  )
})

test('G3: beyond the total, the address that holds most is cut off, and nobody else', async (context) => {
  const { ask, peer } = await startUnread(context, { total: 3.5 * MUCH })
  const honest = await ask('a', MUCH)
  peer.address = '192.0.2.2'
  const greedy = [await ask('b', MUCH), await ask('b', MUCH), await ask('b', MUCH)]
  assert.equal(await isClosed(greedy[0] ?? honest), true)
  honest.socket.resume()
  while (honest.socket.bytesRead < MUCH) await once(honest.socket, 'data')
})

test('G3: a document is shared by all answers and counts for no client', async (context) => {
  const { ask } = await startUnread(context, { total: MUCH })
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
