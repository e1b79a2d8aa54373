import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RateLimiter, type RateLimitPass, type Timing } from './rate-limiter.ts'

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

async function enterAll(limiter: RateLimiter, count: number): Promise<RateLimitPass[]> {
  return Promise.all(Array.from({ length: count }, () => limiter.enter(false)))
}

test('one more request at a time after each good answer, sixteen at most, until the first refusal', () => {
  const limiter = new RateLimiter(handTiming())
  assert.equal(limiter.limit, 4)
  limiter.speedUp()
  assert.equal(limiter.limit, 5)
  for (let answers = 0; answers < 100; answers += 1) limiter.speedUp()
  assert.equal(limiter.limit, 16)
})

test('once it was refused, one more request at a time after each clean round', async () => {
  const timing = handTiming()
  const limiter = new RateLimiter(timing)
  for (let answers = 0; answers < 4; answers += 1) limiter.speedUp()
  const pass = await limiter.enter(false)
  limiter.slowDown(pass, refusal)
  assert.equal(limiter.limit, 4)
  for (let answers = 0; answers < 3; answers += 1) limiter.speedUp()
  assert.equal(limiter.limit, 4)
  limiter.speedUp()
  assert.equal(limiter.limit, 5)
  for (let answers = 0; answers < 1_000; answers += 1) limiter.speedUp()
  assert.equal(limiter.limit, 16)
})

test('refusals of requests that were sent together halve the limit once, down to one', async () => {
  const timing = handTiming()
  const limiter = new RateLimiter(timing)
  const passes = await enterAll(limiter, 4)
  for (const pass of passes) limiter.slowDown(pass, refusal)
  assert.equal(limiter.limit, 2)
  for (const pass of passes) limiter.leave(pass)
  for (let round = 0; round < 5; round += 1) {
    await timing.move(60_000)
    const pass = await limiter.enter(false)
    limiter.slowDown(pass, refusal)
    limiter.leave(pass)
  }
  assert.equal(limiter.limit, 1)
})

test('what is over the limit waits for a place, in order', async () => {
  const limiter = new RateLimiter(handTiming())
  const passes = await enterAll(limiter, 4)
  const order: number[] = []
  for (const name of [1, 2]) void limiter.enter(false).then(() => order.push(name))
  assert.equal(limiter.inFlight, 4)
  for (const pass of passes.slice(0, 2)) limiter.leave(pass)
  await new Promise(setImmediate)
  assert.deepEqual(order, [1, 2])
})

test('an urgent request waits for none that is not', async () => {
  const limiter = new RateLimiter(handTiming())
  await enterAll(limiter, 4)
  void limiter.enter(false)
  await limiter.enter(true)
  assert.equal(limiter.inFlight, 5)
})

test('nobody is let in before the time that the endpoint named', async () => {
  const timing = handTiming()
  const limiter = new RateLimiter(timing)
  const pass = await limiter.enter(false)
  limiter.slowDown(pass, { kind: 'too-fast', retryAfterMs: 7_000 })
  limiter.leave(pass)
  let isIn = false
  const entered = limiter.enter(true).then(() => {
    isIn = true
  })
  await timing.move(6_900)
  assert.equal(isIn, false)
  await timing.move(200)
  await entered
})

test('without a named time the pauses double, and start small again after a good answer', async () => {
  const timing = handTiming()
  const limiter = new RateLimiter(timing)
  const pauses: number[] = []
  const refuse = async () => {
    const pass = await limiter.enter(false)
    limiter.slowDown(pass, refusal)
    limiter.leave(pass)
    pauses.push(limiter.pausedMs)
    await timing.move(limiter.pausedMs)
  }
  for (let times = 0; times < 4; times += 1) await refuse()
  limiter.speedUp()
  await refuse()
  assert.deepEqual(pauses, [125, 250, 500, 1_000, 125])
})

test('a node that is down is asked again within seconds, however long it was down', async () => {
  const timing = handTiming()
  const limiter = new RateLimiter(timing)
  for (let times = 0; times < 20; times += 1) {
    const pass = await limiter.enter(false)
    limiter.slowDown(pass, { kind: 'unreachable', retryAfterMs: undefined })
    limiter.leave(pass)
    assert.ok(limiter.pausedMs <= 4_000)
    await timing.move(limiter.pausedMs)
  }
})

test('an urgent request does not sit out a long pause: it fails with the reason', async () => {
  const limiter = new RateLimiter(handTiming())
  const passes = await Promise.all([1, 2, 3, 4].map(() => limiter.enter(true)))
  const waiting = limiter.enter(true)
  const [pass] = passes
  assert.ok(pass !== undefined)
  limiter.slowDown(pass, { kind: 'too-fast', retryAfterMs: 60_000 })
  await assert.rejects(waiting, /retrying in 60 s/)
  await assert.rejects(limiter.enter(true), /retrying in 60 s/)
})

test('a request that is no longer wanted leaves its place in the queue', async () => {
  const limiter = new RateLimiter(handTiming())
  await enterAll(limiter, 4)
  const stop = new AbortController()
  const waiting = limiter.enter(false, stop.signal)
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
    const limiter = new RateLimiter({ clock, random: () => 0, sleep })
    const pass = await limiter.enter(false)
    limiter.slowDown(pass, { kind: 'too-fast', retryAfterMs: 500 })
    left = looks
    const waiting = limiter.enter(true)
    limiter.leave(pass)
    await waiting
  }
})
