import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pace, type Pass } from './pace.ts'
import type { Timing } from './timing.ts'

const refusal = { kind: 'too-fast', retryAfterMs: undefined } as const

/** Time that stands still until it is moved; whoever sleeps is woken then. */
function handTiming(): Timing & { move(ms: number): Promise<void> } {
  let nowMs = 0
  const sleeping: { readonly untilMs: number; readonly wake: () => void }[] = []
  return {
    clock: () => nowMs,
    random: () => 0,
    sleep: (ms) =>
      new Promise((wake) => {
        sleeping.push({ untilMs: nowMs + ms, wake })
      }),
    async move(ms) {
      nowMs += ms
      for (const each of sleeping) if (each.untilMs <= nowMs) each.wake()
      await new Promise(setImmediate)
    },
  }
}

async function enterAll(pace: Pace, count: number): Promise<Pass[]> {
  return Promise.all(Array.from({ length: count }, () => pace.enter(false)))
}

test('one more request at a time after each good answer, sixteen at most, until the first refusal', () => {
  const pace = new Pace(handTiming())
  assert.equal(pace.limit, 4)
  pace.speedUp()
  assert.equal(pace.limit, 5)
  for (let answers = 0; answers < 100; answers += 1) pace.speedUp()
  assert.equal(pace.limit, 16)
})

test('once it was refused, one more request at a time after each clean round', async () => {
  const timing = handTiming()
  const pace = new Pace(timing)
  for (let answers = 0; answers < 4; answers += 1) pace.speedUp()
  const pass = await pace.enter(false)
  pace.slowDown(pass, refusal)
  assert.equal(pace.limit, 4)
  for (let answers = 0; answers < 3; answers += 1) pace.speedUp()
  assert.equal(pace.limit, 4)
  pace.speedUp()
  assert.equal(pace.limit, 5)
  for (let answers = 0; answers < 1_000; answers += 1) pace.speedUp()
  assert.equal(pace.limit, 16)
})

test('refusals of requests that were sent together halve the pace once, down to one', async () => {
  const timing = handTiming()
  const pace = new Pace(timing)
  const passes = await enterAll(pace, 4)
  for (const pass of passes) pace.slowDown(pass, refusal)
  assert.equal(pace.limit, 2)
  for (const pass of passes) pace.leave(pass)
  for (let round = 0; round < 5; round += 1) {
    await timing.move(60_000)
    const pass = await pace.enter(false)
    pace.slowDown(pass, refusal)
    pace.leave(pass)
  }
  assert.equal(pace.limit, 1)
})

test('what is over the limit waits for a place, in order', async () => {
  const pace = new Pace(handTiming())
  const passes = await enterAll(pace, 4)
  const order: number[] = []
  for (const name of [1, 2]) void pace.enter(false).then(() => order.push(name))
  assert.equal(pace.inFlight, 4)
  for (const pass of passes.slice(0, 2)) pace.leave(pass)
  await new Promise(setImmediate)
  assert.deepEqual(order, [1, 2])
})

test('an urgent request waits for none that is not', async () => {
  const pace = new Pace(handTiming())
  await enterAll(pace, 4)
  void pace.enter(false)
  await pace.enter(true)
  assert.equal(pace.inFlight, 5)
})

test('nobody is let in before the time that the endpoint named', async () => {
  const timing = handTiming()
  const pace = new Pace(timing)
  const pass = await pace.enter(false)
  pace.slowDown(pass, { kind: 'too-fast', retryAfterMs: 7_000 })
  pace.leave(pass)
  let isIn = false
  const entered = pace.enter(true).then(() => {
    isIn = true
  })
  await timing.move(6_900)
  assert.equal(isIn, false)
  await timing.move(200)
  await entered
})

test('without a named time the pauses double, and start small again after a good answer', async () => {
  const timing = handTiming()
  const pace = new Pace(timing)
  const pauses: number[] = []
  const refuse = async () => {
    const pass = await pace.enter(false)
    pace.slowDown(pass, refusal)
    pace.leave(pass)
    pauses.push(pace.pausedMs)
    await timing.move(pace.pausedMs)
  }
  for (let times = 0; times < 4; times += 1) await refuse()
  pace.speedUp()
  await refuse()
  assert.deepEqual(pauses, [125, 250, 500, 1_000, 125])
})

test('a node that is down is asked again within seconds, however long it was down', async () => {
  const timing = handTiming()
  const pace = new Pace(timing)
  for (let times = 0; times < 20; times += 1) {
    const pass = await pace.enter(false)
    pace.slowDown(pass, { kind: 'unreachable', retryAfterMs: undefined })
    pace.leave(pass)
    assert.ok(pace.pausedMs <= 4_000)
    await timing.move(pace.pausedMs)
  }
})

test('an urgent request does not sit out a long pause: it fails with the reason', async () => {
  const pace = new Pace(handTiming())
  const passes = await Promise.all([1, 2, 3, 4].map(() => pace.enter(true)))
  const waiting = pace.enter(true)
  const [pass] = passes
  assert.ok(pass !== undefined)
  pace.slowDown(pass, { kind: 'too-fast', retryAfterMs: 60_000 })
  await assert.rejects(waiting, /retrying in 60 s/)
  await assert.rejects(pace.enter(true), /retrying in 60 s/)
})

test('a request that is no longer wanted leaves its place in the queue', async () => {
  const pace = new Pace(handTiming())
  await enterAll(pace, 4)
  const stop = new AbortController()
  const waiting = pace.enter(false, stop.signal)
  stop.abort()
  await assert.rejects(waiting, /cancelled by the caller/)
})

test('a pause that ends between any two looks at the clock leaves nobody waiting', async () => {
  for (let looks = 0; looks < 12; looks += 1) {
    let left = Number.POSITIVE_INFINITY
    const clock = () => {
      left -= 1
      return left < 0 ? 1_000 : 0
    }
    // Whoever sleeps wakes a moment later, when the pause is over.
    const sleep = () => new Promise<void>((wake) => setImmediate(wake))
    const pace = new Pace({ clock, random: () => 0, sleep })
    const pass = await pace.enter(false)
    pace.slowDown(pass, { kind: 'too-fast', retryAfterMs: 500 })
    left = looks
    const waiting = pace.enter(true)
    pace.leave(pass)
    await waiting
  }
})
