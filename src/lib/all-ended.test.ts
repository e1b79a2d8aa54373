import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allEnded } from './all-ended.ts'

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

test('outcomes come in the order of the tasks, not of their ends', async () => {
  const first = Promise.withResolvers<number>()
  const all = allEnded([first.promise, Promise.resolve(2)])
  first.resolve(1)
  assert.deepEqual(await all, [1, 2])
})
