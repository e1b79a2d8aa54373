import assert from 'node:assert/strict'
import { it, test } from 'node:test'
import { allEnded, TtlCache } from '#lib/async.ts'

it('what is forgotten while it is loaded is loaded anew', async () => {
  const loads: PromiseWithResolvers<string>[] = []
  const cache = new TtlCache<string>({ max: 10, ttlMs: 500, clock: () => 1_000 })
  const get = () =>
    cache.get('key', () => {
      const load = Promise.withResolvers<string>()
      loads.push(load)
      return load.promise
    })
  const before = get()
  cache.forget('key')
  loads[0]?.resolve('good')
  assert.equal(await before, 'good')
  const waiting = get()
  loads[1]?.resolve('revoked')
  assert.equal(await waiting, 'revoked')
  assert.equal(await get(), 'revoked')
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

test('nothing is under way any more when one of several tasks has failed', async () => {
  const slow = Promise.withResolvers<string>()
  let isOver = false
  const all = allEnded([Promise.reject(new Error('the first')), slow.promise]).finally(() => {
    isOver = true
  })
  all.catch(() => undefined)
  await new Promise(setImmediate)
  assert.equal(isOver, false)
  slow.resolve('done')
  await assert.rejects(all, /the first/)
})
