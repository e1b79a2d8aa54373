import assert from 'node:assert/strict'
import { it } from 'node:test'
import { TtlCache } from './ttl-cache.ts'

function world() {
  const now = { ms: 1_000 }
  const loads: PromiseWithResolvers<string>[] = []
  const cache = new TtlCache<string>({ max: 10, ttlMs: 500, clock: () => now.ms, renews: true })
  const get = () =>
    cache.get('key', () => {
      const load = Promise.withResolvers<string>()
      loads.push(load)
      return load.promise
    })
  return { now, loads, cache, get }
}

it('a value past half of its time is given while it is loaded anew, once, and then replaced', async () => {
  const { now, loads, get } = world()
  const first = get()
  loads[0]?.resolve('old')
  assert.equal(await first, 'old')
  now.ms += 250
  assert.equal(await get(), 'old')
  assert.equal(await get(), 'old')
  assert.equal(loads.length, 2)
  loads[1]?.resolve('new')
  await loads[1]?.promise
  assert.equal(await get(), 'new')
})

it('no value is given beyond its time, however long its renewal takes', async () => {
  const { now, loads, get } = world()
  get()
  loads[0]?.resolve('old')
  now.ms += 499
  assert.equal(await get(), 'old')
  now.ms += 1
  const waiting = get()
  loads[2]?.resolve('newest')
  assert.equal(await waiting, 'newest')
  loads[1]?.resolve('late')
  await loads[1]?.promise
  assert.equal(await get(), 'newest')
})

it('what is forgotten while it is renewed is loaded anew', async () => {
  const { now, loads, cache, get } = world()
  get()
  loads[0]?.resolve('good')
  now.ms += 300
  assert.equal(await get(), 'good')
  cache.forget('key')
  loads[1]?.resolve('good')
  await loads[1]?.promise
  const waiting = get()
  loads[2]?.resolve('revoked')
  assert.equal(await waiting, 'revoked')
})

it('a renewal that fails is tried again by the next who asks', async () => {
  const { now, loads, get } = world()
  get()
  loads[0]?.resolve('old')
  now.ms += 300
  assert.equal(await get(), 'old')
  loads[1]?.reject(new Error('broken'))
  await assert.rejects(loads[1]?.promise ?? Promise.resolve())
  assert.equal(await get(), 'old')
  assert.equal(loads.length, 3)
})

it('all who ask in time get one reading, after a failure another, and a clock set back keeps none', async () => {
  let nowMs = 5_000
  let readings = 0
  const cache = new TtlCache<number>({ max: 10, ttlMs: 1_000, clock: () => nowMs })
  const read = () =>
    cache.get('key', async () => {
      readings += 1
      if (readings === 2) throw new Error('down')
      return readings
    })
  assert.deepEqual(await Promise.all([read(), read()]), [1, 1])
  nowMs += 999
  assert.equal(await read(), 1)
  assert.equal(cache.leftMs('key'), 1)
  nowMs += 1
  await assert.rejects(read(), /down/)
  assert.equal(await read(), 3)
  nowMs -= 10_000
  assert.equal(cache.leftMs('key'), 0)
  assert.equal(await read(), 4)
  assert.equal(cache.leftMs('key'), 1_000)
})
