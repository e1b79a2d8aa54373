import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { CallLimiter } from '#api/metered.ts'
import { answer } from '#route.ts'
import { GOOD_KEY, NOON_MS, startHarness } from '#test/http/api-harness.ts'

test('four calls of a caller work at once, the others in the order in which they came', async () => {
  const limiter = new CallLimiter()
  const begun: number[] = []
  const releases: (() => void)[] = []
  const call = async (n: number) => {
    const release = await limiter.acquire('a')
    assert.ok(release !== undefined)
    releases.push(release)
    begun.push(n)
  }
  const calls = [0, 1, 2, 3, 4, 5, 6].map(call)
  await turn()
  assert.deepEqual(begun, [0, 1, 2, 3])
  assert.ok(await limiter.acquire('b'), 'another caller does not wait')
  for (const release of releases.slice(0, 3)) release()
  await Promise.all(calls)
  assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6])
})

test('the line of a caller is bounded', async () => {
  const limiter = new CallLimiter()
  for (let n = 0; n < 4 + 1_000; n += 1) void limiter.acquire('a')
  assert.equal(await limiter.acquire('a'), undefined)
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
