import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { readStream } from '#examples/stream.ts'
import { eventually } from '../world.ts'
import { startStreamWorld } from './stream-world.ts'

test('a reader that does not read is cut off, and its cursor brings the rest', async () => {
  const slow = await startStreamWorld({ stillMs: 1_000 })
  try {
    const { port } = new URL(slow.origin)
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => undefined)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write('GET /api/stream?kind=burn HTTP/1.1\r\nHost: local\r\n\r\n')
    let text = ''
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    await eventually(async () => text.includes('event: ready') || undefined, 5_000)
    socket.pause()
    // More than the buffers of the kernel hold.
    for (let block = 0; block < BLOCKS; block += 1) await slow.burn(BURNS)
    await eventually(async () => slow.open.count === 0 || undefined, 10_000)
    socket.resume()
    await closed
    const ids = [...text.matchAll(/^id: (\S+)\n\n/gm)].map(([, id]) => id ?? '')
    const got = ids.length - 1
    // A reset may take along what the kernel had received.
    assert.ok(got < BLOCKS * BURNS, `${got} events arrived`)
    let rest = 0
    const options = { lastEventId: ids.at(-1) ?? '' }
    for await (const { event } of readStream(
      `${await slow.another()}/api/stream?kind=burn`,
      options,
    )) {
      if (event === 'add') rest += 1
      if (got + rest === BLOCKS * BURNS) break
    }
  } finally {
    await slow.end()
  }
})

const BLOCKS = 3
const BURNS = 4_000

test('a server that has all streams it may have refuses another one, uncharged, until one ends', async () => {
  const small = await startStreamWorld({ streamsMax: 2 })
  const { secret } = await small.callers.mint()
  const headers = { authorization: `Bearer ${secret}` }
  const ask = () => fetch(`${small.origin}/api/stream`, { headers })
  try {
    const stop = new AbortController()
    const first = await fetch(`${small.origin}/api/stream`, { headers, signal: stop.signal })
    const second = await ask()
    assert.deepEqual([first.status, second.status], [200, 200])
    await eventually(async () => small.open.count === 2 || undefined, 5_000)
    const refused = await ask()
    const body = (await refused.json()) as { readonly error: string }
    assert.deepEqual([refused.status, body.error], [503, 'data_not_ready'])
    assert.equal(refused.headers.get('x-ratelimit-remaining'), '8', 'two of ten were charged')
    stop.abort()
    await eventually(async () => (small.open.count === 1 ? true : undefined), 5_000)
    const third = await ask()
    assert.equal(third.status, 200)
    for (const each of [second, third]) await each.body?.cancel()
  } finally {
    await small.end()
  }
})

test('a server that stops ends its streams and says so', async () => {
  const stopping = await startStreamWorld()
  const { secret } = await stopping.callers.mint()
  const headers = { authorization: `Bearer ${secret}` }
  const events = readStream(`${stopping.origin}/api/stream`, { headers })
  assert.equal((await events.next()).value.event, 'ready')
  const stopped = stopping.stopServer()
  assert.equal((await events.next()).value.data.reason, 'server_stopping')
  assert.equal((await events.next()).done, true)
  await stopped
  await stopping.end()
})
