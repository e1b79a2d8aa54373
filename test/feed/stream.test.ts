import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { readStream, type StreamEvent } from '#examples/stream.ts'
import { eventually } from '../world.ts'
import { type StreamWorld, startStreamWorld } from './stream-world.ts'

let world: StreamWorld
before(async () => {
  world = await startStreamWorld()
})
after(() => world.end())

interface OpenStream {
  readonly events: AsyncGenerator<StreamEvent>
  next(event?: string): Promise<StreamEvent>
  close(): void
}

/** With a key of its own unless a test gives one. */
async function openStream(
  query = '',
  more: { lastEventId?: string; secret?: string; origin?: string } = {},
): Promise<OpenStream> {
  const secret = more.secret ?? (await world.callers.mint()).secret
  const stop = new AbortController()
  const events = readStream(`${more.origin ?? world.origin}/api/stream${query}`, {
    headers: { authorization: `Bearer ${secret}` },
    signal: stop.signal,
    ...(more.lastEventId !== undefined && { lastEventId: more.lastEventId }),
  })
  const next = async (wanted?: string) => {
    for (;;) {
      const { value, done } = await events.next()
      assert.ok(done !== true, `the stream ended before ${wanted ?? 'another event'}`)
      if (wanted === undefined || value.event === wanted) return value
    }
  }
  return { events, next, close: () => stop.abort() }
}

test('an add carries the row that the list shows', async () => {
  const stream = await openStream('?kind=burn')
  assert.equal((await stream.next()).event, 'ready')
  await world.burn()
  const { data } = await stream.next('add')
  stream.close()
  const { secret } = await world.callers.mint()
  const listed = await fetch(`${world.origin}/api/burns/recent?limit=1`, {
    headers: { authorization: `Bearer ${secret}` },
  })
  const body = (await listed.json()) as { readonly data: readonly object[] }
  assert.deepEqual(data, { kind: 'burn', row: body.data[0] })
})

test('a stream of one wallet has its events and no other', async () => {
  const all = await openStream('?kind=burn')
  await all.next('ready')
  await world.burn()
  const { data } = await all.next('add')
  const { from } = (data as { readonly row: { readonly from: string } }).row
  const stranger = await openStream(`?address=0x${'5'.repeat(40)}`)
  const own = await openStream(`?address=${from}`)
  for (const each of [stranger, own]) await each.next('ready')
  await world.burn()
  assert.equal((await own.next('add')).event, 'add')
  // Final blocks are told to everyone; a burn is not.
  await world.burn()
  await all.next('add')
  await all.next('add')
  const seen: string[] = []
  const listening = (async () => {
    for await (const { event } of stranger.events) seen.push(event)
  })().catch(() => undefined)
  await own.next('add')
  stranger.close()
  await listening
  assert.ok(!seen.includes('add'))
  for (const each of [all, own]) each.close()
})

test('a client that reconnects to another replica gets exactly what it missed', async () => {
  const first = await openStream('?kind=burn')
  const { id } = await first.next('ready')
  first.close()
  await world.burn(3)
  await world.burn(2)
  const again = await openStream('?kind=burn', { lastEventId: id, origin: await world.another() })
  const ids = new Set<unknown>()
  for (let count = 0; count < 5; count += 1) {
    const { data } = await again.next('add')
    ids.add((data.row as { id: string }).id)
  }
  assert.equal(ids.size, 5)
  await world.burn(1)
  assert.ok(!ids.has(((await again.next('add')).data.row as { id: string }).id))
  again.close()
})

test('a reorg retracts, newest first', async () => {
  const { base } = world
  const stream = await openStream('?kind=burn')
  await stream.next('ready')
  await world.burn()
  await world.burn()
  const added = [await stream.next('add'), await stream.next('add')]
  base.chain = base.chain.fork(base.chain.head.number - 2).addEmpty(3)
  await world.catchUp()
  const retracted = [await stream.next('retract'), await stream.next('retract')]
  const idOf = ({ data }: StreamEvent) => (data.row as { id: string }).id
  assert.deepEqual(retracted.map(idOf), added.map(idOf).reverse())
  stream.close()
})

test('history that is read in one go resets every reader, who then goes on', async () => {
  const stream = await openStream('?kind=burn')
  const { id } = await stream.next('ready')
  world.base.chain = world.base.chain.addEmpty(150)
  await world.catchUp()
  const reset = await stream.next('reset')
  assert.notEqual(reset.id, id)
  await world.burn()
  await stream.next('add')
  stream.close()
  const late = await openStream('', { lastEventId: id })
  assert.equal((await late.next()).event, 'ready')
  assert.equal((await late.next()).event, 'reset')
  late.close()
})

test('each started minute costs a call, the first on opening, and the ledger agrees', async () => {
  const { secret, publicId } = await world.callers.mint()
  await world.callers.fund(publicId, 200n)
  await world.callers.admit(secret, 7)
  const stream = await openStream('', { secret })
  await stream.next('ready')
  assert.equal(await callsOf(secret), 8)
  for (let calls = 9; calls <= 12; calls += 1) {
    world.callers.now.ms += 60_000
    await eventually(async () => (await callsOf(secret)) === calls || undefined, 5_000)
  }
  world.callers.now.ms += 60_000
  const end = await stream.next('end')
  assert.equal(end.data.reason, 'quota_exhausted')
  assert.match(JSON.stringify(end.data.offer), /"payment_required"/)
  assert.equal((await stream.events.next()).done, true)
  // Ten free calls and two paid ones.
  assert.equal(await callsOf(secret), 12)
  const rateLimit = await rateLimitOf(secret)
  assert.equal(rateLimit.overageCount, 2)
  assert.equal(rateLimit.prepaidBalance, 0n)
})

async function rateLimitOf(secret: string) {
  const { metering } = world.callers
  const caller = await metering.identify({ authorization: `Bearer ${secret}` }, '192.0.2.1')
  assert.ok(caller.kind === 'keyed')
  return metering.meter.rateLimit(caller)
}

async function callsOf(secret: string): Promise<number> {
  return (await rateLimitOf(secret)).requestCount
}

test('a revoked key ends its stream within a second', async () => {
  const key = await world.callers.mint()
  const stream = await openStream('', key)
  await stream.next('ready')
  await world.callers.revoke(key)
  world.callers.now.ms += 1_000
  assert.equal((await stream.next('end')).data.reason, 'invalid_api_key')
})

test('a cursor that the feed does not hold is reset at once', async () => {
  const { id, close } = await cursorNow()
  close()
  const [epoch, sequence, hash] = id.split('.')
  for (const lastEventId of [
    `${epoch}.${Number(sequence) + 5}.${hash}`,
    `${'f'.repeat(12)}.${sequence}.${hash}`,
    `${epoch}.${sequence}.00000000`,
  ]) {
    const stream = await openStream('?kind=burn', { lastEventId })
    assert.equal((await stream.next()).event, 'ready')
    assert.equal((await stream.next()).event, 'reset')
    stream.close()
  }
})

async function cursorNow() {
  const stream = await openStream('?kind=burn')
  const { id } = await stream.next('ready')
  return { id, ...stream }
}

test('what is not a cursor is refused and costs nothing', async () => {
  const { secret } = await world.callers.mint()
  const headers = { authorization: `Bearer ${secret}` }
  for (const [url, more] of [
    [`${world.origin}/api/stream?cursor=nonsense`, {}],
    [`${world.origin}/api/stream`, { 'Last-Event-ID': 'nonsense' }],
  ] as const) {
    const refused = await fetch(url, { headers: { ...headers, ...more } })
    assert.equal(refused.status, 400)
    assert.equal(((await refused.json()) as { error: string }).error, 'invalid_cursor')
  }
  assert.equal(await callsOf(secret), 0)
})

test('a HEAD request shows the headers of a stream', async () => {
  const { secret } = await world.callers.mint()
  const headers = { authorization: `Bearer ${secret}` }
  const answer = await fetch(`${world.origin}/api/stream`, { method: 'HEAD', headers })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.equal(answer.headers.get('x-ratelimit-source'), 'quota')
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')
})
