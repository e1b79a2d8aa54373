import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer } from '#http/route.ts'
import type { IndexStatus } from '#indexer/status.ts'
import { ReadyAnswers } from './ready-answers.ts'

const NOON_MS = 1_795_262_400_000

function world() {
  const state = {
    nowMs: NOON_MS,
    made: 0,
    status: Promise.resolve<IndexStatus | undefined>(statusAt('r1')),
  }
  const ready = new ReadyAnswers({ clock: () => state.nowMs, recentStatus: () => state.status })
  const ask = async (question: string) => {
    const outcome = await ready.get(question, async () => {
      state.made += 1
      return answer(200, `${question} ${state.made}`)
    })
    return outcome.kind === 'answer' ? outcome.body : outcome.code
  }
  return { state, ask }
}

const nothing = { chains: [], unread: [], otherParts: [] }
const statusAt = (revision: string): IndexStatus => ({ ...nothing, asOfUnix: 1, revision })

test('one question at one index height is answered once, another one anew', async () => {
  const { ask } = world()
  assert.deepEqual(await Promise.all([ask('a'), ask('a')]), ['a 1', 'a 1'])
  assert.equal(await ask('a'), 'a 1')
  assert.equal(await ask('b'), 'b 2')
})

test('a new height, or a second that has passed, makes the answer anew', async () => {
  const { state, ask } = world()
  assert.equal(await ask('a'), 'a 1')
  state.status = Promise.resolve(statusAt('r2'))
  assert.equal(await ask('a'), 'a 2')
  state.nowMs += 1_001
  assert.equal(await ask('a'), 'a 3')
})

test('an index that tells nothing yet is asked for every answer', async () => {
  const { state, ask } = world()
  await ask('a')
  state.status = Promise.resolve(undefined)
  assert.deepEqual([await ask('a'), await ask('a')], ['a 2', 'a 3'])
})

test('who asks for long series of many periods fills the memory no further', async () => {
  const { state, ask } = world()
  const long = 'a series of ten years '.repeat(50_000)
  for (let days = 3_000; days < 3_100; days += 1) await ask(`${long}${days}`)
  const made = state.made
  await ask(`${long}3099`)
  assert.equal(state.made, made)
  await ask(`${long}3000`)
  assert.equal(state.made, made + 1)
})
