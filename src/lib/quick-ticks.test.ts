import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { keepTicksQuick } from './quick-ticks.ts'

test("what is kept is Node's own record of a tick, once for all", async () => {
  const kept = await keepTicksQuick()
  assert.deepEqual(Object.keys(kept), ['callback', 'args'])
  assert.equal(await keepTicksQuick(), kept)
})

test('ticks are as quick after a collection as before', async () => {
  await keepTicksQuick()
  const before = await quickest()
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  assert.ok(typeof collect === 'function')
  for (let time = 0; time < 3; time += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    collect()
  }
  // Five times as long without it.
  assert.ok((await quickest()) < before * 2.5)
})

/** Milliseconds of many ticks, the least of some times. */
async function quickest(): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let time = 0; time < 5; time += 1) least = Math.min(least, await timeOf(100_000))
  return least
}

function timeOf(ticks: number): Promise<number> {
  const started = performance.now()
  return new Promise((resolve) => {
    let left = ticks
    const tick = () => {
      left -= 1
      if (left > 0) process.nextTick(tick)
      else resolve(performance.now() - started)
    }
    process.nextTick(tick)
  })
}
