import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RangeSizer } from './history-stream.ts'

/** Requests that reading so many blocks of one density takes, one after another. */
function requestsFor(sizer: RangeSizer, blocks: number, bytesPerBlock: number): number {
  let requests = 0
  for (let done = 0; done < blocks; requests += 1) {
    const size = Math.min(blocks - done, sizer.blocks())
    sizer.answered(size, size * bytesPerBlock)
    done += size
  }
  return requests
}

test('a cap that no refusal explains is tried again ever more rarely', () => {
  const sizer = new RangeSizer()
  let refusals = 0
  for (let answers = 0; answers < 2_000; ) {
    const size = sizer.blocks()
    if (size > 1_000) {
      sizer.refused(size, {})
      refusals += 1
    } else {
      sizer.answered(size, 100)
      answers += 1
    }
  }
  assert.ok(refusals < 40, `${refusals} refusals`)
})

test('where the results are capped, answers settle below the cap', () => {
  const sizer = new RangeSizer()
  const bytesPerBlock = 1_264
  let refusals = 0
  let answers = 0
  while (answers < 500) {
    const size = sizer.blocks()
    if (size * bytesPerBlock > 3_000_000) {
      sizer.refused(size, {})
      refusals += 1
    } else {
      sizer.answered(size, size * bytesPerBlock)
      answers += 1
    }
  }
  assert.ok(refusals < 40, `${refusals} refusals`)
  assert.ok(sizer.blocks() * bytesPerBlock > 1_000_000, 'and not far below')
})

test('once a refused size is answered, nothing holds the ranges back any more', () => {
  const sizer = new RangeSizer()
  requestsFor(sizer, 2_000_000, 1)
  for (let size = sizer.blocks(); size > 1_000; size = sizer.blocks()) sizer.refused(size, {})
  assert.ok(requestsFor(sizer, 50_000_000, 1) < 300)
  assert.equal(sizer.blocks(), 5_000_000)
})
