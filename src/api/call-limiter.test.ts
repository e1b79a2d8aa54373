import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { CallLimiter } from '#api/metered.ts'
import { answer } from '#route.ts'
import { GOOD_KEY, NOON_MS, startHarness } from '#test/http/api-harness.ts'

const client = () => ({ isCut: () => false })

test('four calls of a caller work at once, the others in the order in which they came', async () => {
  const limiter = new CallLimiter()
  const begun: number[] = []
  const call = async (n: number) => {
    await limiter.acquire('a', client())
    begun.push(n)
  }
  const calls = [0, 1, 2, 3, 4, 5, 6].map(call)
  await turn()
  assert.deepEqual(begun, [0, 1, 2, 3])
  assert.equal(limiter.acquire('b', client()), undefined, 'another caller does not wait')
  for (let n = 0; n < 3; n += 1) limiter.release('a')
  await Promise.all(calls)
  assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6])
  for (let n = 0; n < 4; n += 1) limiter.release('a')
  for (let n = 0; n < 4; n += 1) assert.equal(limiter.acquire('a', client()), undefined)
})

test('calls that are cut get no slot and make room in a line, which is bounded', async () => {
  const limiter = new CallLimiter()
  for (let n = 0; n < 4; n += 1) limiter.acquire('a', client())
  let isCut = false
  const cut = [
    limiter.acquire('a', { isCut: () => isCut }),
    limiter.acquire('a', { isCut: () => isCut }),
  ]
  for (let n = 0; n < 998; n += 1) limiter.acquire('a', client())
  assert.equal(limiter.acquire('a', client()), 'full')
  isCut = true
  assert.ok(limiter.acquire('a', client()) instanceof Promise)
  assert.deepEqual(await Promise.all(cut), [false, false])
})

test('a slot goes to the next call that is not cut', async () => {
  const limiter = new CallLimiter()
  for (let n = 0; n < 4; n += 1) limiter.acquire('a', client())
  const cut = limiter.acquire('a', { isCut: () => true })
  const open = limiter.acquire('a', client())
  limiter.release('a')
  assert.deepEqual(await Promise.all([cut, open]), [false, true])
})

test('of 300 heavy calls at once for one remaining unit one is answered, and few work', async () => {
  const world = await startHarness()
  world.counts.set('127.0.0.1', 2)
  world.outcome = async () => {
    for (let turns = 0; turns < 20; turns += 1) await turn()
    return answer(200, { data: 'heavy' })
  }
  const statuses = await Promise.all(
    Array.from({ length: 300 }, async () => {
      const response = await fetch(`${world.origin}/api/thing`)
      await response.arrayBuffer()
      return response.status
    }),
  )
  assert.equal(statuses.filter((each) => each === 200).length, 1)
  assert.equal(statuses.filter((each) => each === 402).length, 299)
  const worked = world.log.filter((each) => each === 'work').length
  assert.ok(worked <= 12, `${worked} calls worked`)
  await world.server.stop()
})

test('of one caller few large answers wait in memory for their charge', async () => {
  const { promise: committed, resolve: commit } = Promise.withResolvers<void>()
  const world = await startHarness()
  world.counts.set('127.0.0.1', 2)
  world.held = committed
  world.outcome = async () => answer(200, { data: 'x'.repeat(100_000) })
  const calls = Array.from({ length: 50 }, async () => {
    const response = await fetch(`${world.origin}/api/thing`)
    await response.arrayBuffer()
    return response.status
  })
  while (world.log.filter((each) => each === 'parse').length < 50) await turn()
  for (let turns = 0; turns < 20; turns += 1) await turn()
  assert.equal(world.log.filter((each) => each === 'work').length, 4)
  commit()
  const statuses = await Promise.all(calls)
  assert.equal(statuses.filter((each) => each === 200).length, 1)
  await world.server.stop()
})

test('a key that is revoked while its calls wait and work serves none of them', async () => {
  const now = { ms: NOON_MS }
  const world = await startHarness({ clock: () => now.ms })
  const { promise, resolve } = Promise.withResolvers<void>()
  world.outcome = async () => {
    await promise
    return answer(200, { data: 'thing' })
  }
  const calls = Array.from({ length: 6 }, async () => {
    const headers = { authorization: `Bearer ${GOOD_KEY}` }
    const response = await fetch(`${world.origin}/api/thing`, { headers })
    await response.arrayBuffer()
    return response.status
  })
  while (world.log.filter((each) => each === 'parse').length < 6) await turn()
  world.revokeKey()
  now.ms += 1_000
  resolve()
  assert.deepEqual(await Promise.all(calls), Array(6).fill(401))
  assert.equal(world.counts.size, 0)
  await world.server.stop()
})
