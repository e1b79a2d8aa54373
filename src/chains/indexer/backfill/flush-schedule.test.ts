import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Change } from '../dataset.ts'
import { FlushSchedule } from './flush-schedule.ts'

const nothing = {} as Change

/** Reads so many blocks, one a second, and stores for a second per hundred blocks; gives where it stored. */
async function read(blocks: number): Promise<readonly number[]> {
  let nowMs = 0
  const schedule = new FlushSchedule(() => nowMs, { after: 0 })
  const stored: number[] = []
  let endsMs = Number.POSITIVE_INFINITY
  for (let block = 1; block <= blocks; block += 1) {
    nowMs += 1_000
    if (nowMs >= endsMs) {
      schedule.end()
      endsMs = Number.POSITIVE_INFINITY
    }
    if (!schedule.isDue(block, blocks)) continue
    stored.push(block)
    const beganMs = nowMs
    const stores = schedule.begin([
      async () => {
        nowMs += block * 10
      },
    ])
    for (const store of stores) await store(nothing)
    endsMs = nowMs
    // Blocks are read meanwhile.
    nowMs = beganMs
  }
  return stored
}

test('a history that is read within ten seconds is stored once, at its end', async () => {
  assert.deepEqual(await read(9), [9])
})

test('what is folded waits for ten seconds, and longer where storing takes more than a tenth', async () => {
  const stored = await read(1_000)
  assert.equal(stored[0], 10)
  for (const [place, block] of stored.slice(1, -2).entries()) {
    const sinceMs = (block - (stored[place] ?? 0)) * 1_000
    assert.ok(sinceMs >= Math.max(10_000, (stored[place] ?? 0) * 100), stored.join())
  }
})

test('a long history is stored once more shortly before its end', async () => {
  const stored = await read(1_000)
  const [before = 0, last = 0, end] = stored.slice(-3)
  assert.equal(end, 1_000)
  assert.ok((1_000 - last) * 1_000 <= before * 10 * 1.5, stored.join())
  assert.ok(last < 1_000)
})

test('nothing is stored while the time before is still under way', async () => {
  let nowMs = 0
  const schedule = new FlushSchedule(() => nowMs, { after: 0 })
  nowMs = 60_000
  assert.equal(schedule.isDue(1, 100), true)
  schedule.begin([])
  nowMs = 600_000
  assert.equal(schedule.isDue(50, 100), false)
  schedule.end()
  assert.equal(schedule.isDue(50, 100), true)
})
