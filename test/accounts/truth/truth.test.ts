import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_SECONDS } from '#base/time.ts'
import type { Answered, Entry } from './entry.ts'
import { Roster } from './roster.ts'
import { Truth } from './truth.ts'
import { Violations } from './violations.ts'

const MIDNIGHT = 20_000 * DAY_SECONDS
const NOON_MS = (MIDNIGHT - DAY_SECONDS / 2) * 1_000
const QUOTA = 2

test('a day of calls up to the quota, then paid ones, then 402 is as promised', () => {
  const entries = [
    ...free(1, 1),
    ...free(2, 0),
    ...refused(3),
    funded(100),
    ...paid(4),
    ...refused(5),
  ]
  assert.deepEqual(follow(entries), [])
})

test('the same unit in two answers is noticed', () => {
  assert.match(follow([...free(1, 1), ...free(2, 1)]).join(), /same unit/)
})

test('a call over the quota is noticed', () => {
  assert.match(follow([...free(1, 1), ...free(2, 0), ...free(3, 0)]).join(), /more free calls/)
})

test('a 402 while a unit was left is noticed, but not while a call that may have taken it is on its way', () => {
  assert.match(follow([...free(1, 1), ...refused(2)]).join(), /a 402 while units were left/)
  const [sent, answered] = free(2, 0)
  assert.deepEqual(follow([...free(1, 1), sent, ...refused(3), answered]), [])
})

test('a 402 while money was left is noticed', () => {
  const entries = [...free(1, 1), ...free(2, 0), funded(200), ...paid(3), ...refused(4)]
  assert.match(follow(entries).join(), /a 402 while money was left/)
})

test('a call that was refused before money came, and is answered later, is as promised', () => {
  const [sent, answered] = refused(3)
  const entries = [
    ...free(1, 1),
    ...free(2, 0),
    sent,
    { ...funded(200), atMs: NOON_MS + 1 },
    answered,
  ]
  assert.deepEqual(follow(entries), [])
})

test('a call that nobody saw the answer of may have been counted', () => {
  const lost: Entry = { type: 'lost', call: 2, caller: 0, kind: 'data', atMs: NOON_MS }
  assert.deepEqual(follow([...free(1, 1), sentCall(2), lost, ...refused(3)]), [])
})

test('a revoked key must be refused a second later, and a good one never', () => {
  const ended = (atMs: number): Entry => ({
    type: 'ended',
    caller: 0,
    successor: undefined,
    atMs,
  })
  const ending = (atMs: number): Entry => ({ type: 'ending', caller: 0, atMs })
  const before = NOON_MS - 1_500
  assert.match(follow([ending(before), ended(before), ...free(1, 1)]).join(), /revoked key/)
  assert.deepEqual(follow([ending(NOON_MS), ended(NOON_MS), ...free(1, 1)]), [])
  const [sent, answer] = refused(1)
  const refusal: Entry = { ...answer, status: 401 }
  assert.match(follow([sent, refusal]).join(), /a good key was refused/)
})

test('a reset that is not the next midnight is noticed', () => {
  const [sent, answer] = free(1, 1)
  for (const resetUnix of [
    MIDNIGHT - DAY_SECONDS,
    MIDNIGHT + DAY_SECONDS,
    MIDNIGHT - 1,
    Number.NaN,
  ])
    assert.match(follow([sent, { ...answer, resetUnix }]).join(), /the reset is/)
})

function follow(entries: readonly Entry[]): readonly string[] {
  const roster = new Roster()
  roster.add('wallet:0x1', '00000001')
  const violations = new Violations()
  const truth = new Truth(roster, violations, 100)
  for (const entry of entries) truth.follow(entry)
  return violations.lines()
}

type Pair = [Entry & { type: 'sent' }, Entry & { type: 'answered' }]

function sentCall(call: number): Entry & { type: 'sent' } {
  return { type: 'sent', call, caller: 0, kind: 'data', atMs: NOON_MS }
}

function answered(call: number, more: Partial<Answered>): Pair {
  const answer: Answered = {
    call,
    caller: 0,
    kind: 'data',
    status: 200,
    source: 'quota',
    limit: QUOTA,
    remaining: 0,
    resetUnix: MIDNIGHT,
    sentMs: NOON_MS,
    atMs: NOON_MS,
    ...more,
  }
  return [sentCall(call), { type: 'answered', ...answer }]
}

function free(call: number, remaining: number): Pair {
  return answered(call, { remaining })
}

function paid(call: number): Pair {
  return answered(call, { source: 'prepaid' })
}

function refused(call: number): Pair {
  return answered(call, { status: 402, source: 'none' })
}

function funded(microUsd: number): Entry {
  return { type: 'funded', caller: 0, microUsd, atMs: NOON_MS }
}
