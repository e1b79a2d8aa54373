import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IndexStatus } from '#chains/indexer/status.ts'
import { answer } from '#route/route.ts'
import { AGE_MAX_MS, AnswerCache, type Question } from './answer-cache.ts'

function world() {
  const state = { nowMs: 1_795_262_400_000, made: 0, read: 0, fails: false }
  const cache = new AnswerCache({
    clock: () => state.nowMs,
    readStatus: async () => {
      state.read += 1
      if (state.fails) throw new Error('the register is away')
      return statusAt(`r${state.read}`)
    },
  })
  const ask = async (
    parameters: string,
    revision = 'r1',
    more: Partial<Question> = {},
    nowUnix = 1,
  ) => {
    const question = {
      operationId: 'getThing',
      parameters,
      representation: 'json',
      ...more,
    } as const
    const outcome = await cache.get(
      question,
      { revision, nowUnix, status: statusAt(revision) },
      async () => {
        state.made += 1
        if (state.fails) throw new Error('the register is away')
        return answer(200, `${parameters} ${state.made}`)
      },
    )
    return outcome.kind === 'answer' ? outcome.body : outcome.code
  }
  return { state, cache, ask }
}

const statusAt = (revision: string): IndexStatus => ({
  chains: [],
  unread: [],
  otherParts: [],
  unknown: [],
  asOfUnix: 1,
  revision,
})

test('one question about one state is answered once, also when many ask at the same moment', async () => {
  const { ask } = world()
  assert.deepEqual(await Promise.all([ask('a'), ask('a')]), ['a 1', 'a 1'])
  assert.equal(await ask('a'), 'a 1')
  assert.equal(await ask('b'), 'b 2')
})

test('another state, second, endpoint or representation is another answer', async () => {
  const { ask } = world()
  assert.equal(await ask('a'), 'a 1')
  assert.equal(await ask('a', 'r1', { representation: 'csv' }), 'a 2')
  assert.equal(await ask('a', 'r1', { operationId: 'getOther' }), 'a 3')
  assert.equal(await ask('a', 'r2'), 'a 4')
  assert.equal(await ask('a', 'r2', {}, 2), 'a 5')
})

test('a failure is not kept', async () => {
  const { state, cache, ask } = world()
  state.fails = true
  await assert.rejects(ask('a'))
  await assert.rejects(cache.state())
  state.fails = false
  assert.equal(await ask('a'), 'a 2')
  assert.equal((await cache.state())?.revision, 'r2')
})

test('the status is read once in a tenth of a second, and again when the clock was set back', async () => {
  const { state, cache } = world()
  const revision = async () => (await cache.state())?.revision
  assert.deepEqual(await Promise.all([revision(), revision()]), ['r1', 'r1'])
  state.nowMs += AGE_MAX_MS
  assert.equal(await revision(), 'r1')
  state.nowMs += 1
  assert.equal(await revision(), 'r2')
  state.nowMs -= 3_600_000
  assert.equal(await revision(), 'r3')
})

test('answers of many questions are bounded in bytes', async () => {
  const { state, ask } = world()
  const long = 'ä series of ten years '.repeat(100_000)
  for (let days = 3_000; days < 3_040; days += 1) await ask(`${long}${days}`)
  const { made } = state
  await ask(`${long}3039`)
  assert.equal(state.made, made)
  await ask(`${long}3000`)
  assert.equal(state.made, made + 1)
})

test('an answer that was read from a newer state is not kept under the older one', async () => {
  const { cache, state } = world()
  const question = { operationId: 'getThing', parameters: 'a', representation: 'json' } as const
  const at = { revision: 'r1', nowUnix: 1, status: statusAt('r1') }
  const make = async () => {
    state.made += 1
    return answer(200, `a ${state.made}`, { revision: state.made === 1 ? 'file-r2' : 'file-r1' })
  }
  for (let call = 0; call < 3; call += 1) {
    await cache.get(question, at, make)
    await new Promise(setImmediate)
  }
  assert.equal(state.made, 2)
})
