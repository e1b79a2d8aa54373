import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EndpointError, type FailureKind } from '#chain/rpc-error.ts'
import { RateLimiter, type Timing } from './rate-limiter.ts'

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

const other = { urgent: false }
const urgent = { urgent: true }

/** Requests under way, each with what ends it. */
function begin(limiter: RateLimiter, count: number, turn = other) {
  return Array.from({ length: count }, () => {
    const request = Promise.withResolvers<void>()
    let isSent = false
    const ended = limiter.run(turn, () => {
      isSent = true
      return request.promise
    })
    ended.catch(() => undefined)
    return { ...request, ended, isSent: () => isSent }
  })
}

const succeed = (limiter: RateLimiter) => limiter.run(other, async () => undefined)

async function refuse(limiter: RateLimiter, kind: FailureKind = 'too-fast', retryAfterMs?: number) {
  const refused = limiter.run(other, () =>
    Promise.reject(new EndpointError(kind, 'no', { retryAfterMs })),
  )
  await assert.rejects(refused, EndpointError)
}

test('one more request at a time after each good answer, sixteen at most, until the first refusal', async () => {
  const timing = handTiming()
  const limiter = new RateLimiter(timing)
  assert.equal(limiter.limit, 4)
  await succeed(limiter)
  assert.equal(limiter.limit, 5)
  for (let answers = 0; answers < 100; answers += 1) await succeed(limiter)
  assert.equal(limiter.limit, 16)
  await refuse(limiter)
  assert.equal(limiter.limit, 8)
  await timing.move(60_000)
  await succeed(limiter)
  assert.equal(limiter.limit, 8)
  for (let answers = 0; answers < 9; answers += 1) await succeed(limiter)
  assert.equal(limiter.limit, 9)
})

test('refusals of requests that were sent together halve the limit once, down to one', async () => {
  const timing = handTiming()
  const limiter = new RateLimiter(timing)
  const requests = begin(limiter, 4)
  await timing.move(0)
  for (const each of requests) each.reject(new EndpointError('too-fast', 'no'))
  await Promise.allSettled(requests.map(({ ended }) => ended))
  assert.equal(limiter.limit, 2)
  for (let round = 0; round < 5; round += 1) {
    await timing.move(60_000)
    await refuse(limiter)
  }
  assert.equal(limiter.limit, 1)
})

test('what is over the limit waits for a place, in order; what is urgent only for what is urgent', async () => {
  const timing = handTiming()
  const limiter = new RateLimiter(timing)
  const [first, second, , , fifth, sixth] = begin(limiter, 6)
  await timing.move(0)
  assert.equal(limiter.inFlight, 4)
  first?.reject(new EndpointError('refused', 'no'))
  await timing.move(0)
  assert.deepEqual([fifth?.isSent(), sixth?.isSent()], [true, false])
  second?.reject(new EndpointError('refused', 'no'))
  await timing.move(0)
  assert.equal(sixth?.isSent(), true)
  const [head] = begin(limiter, 1, urgent)
  await timing.move(0)
  assert.equal(head?.isSent(), true)
})

test('no request is sent before the time that the endpoint named', async () => {
  const timing = handTiming()
  const limiter = new RateLimiter(timing)
  await refuse(limiter, 'too-fast', 7_000)
  const [next] = begin(limiter, 1, urgent)
  await timing.move(6_900)
  assert.equal(next?.isSent(), false)
  await timing.move(200)
  assert.equal(next?.isSent(), true)
})

test('without a named time the pauses double, and start small again after a good answer', async () => {
  const timing = handTiming()
  const limiter = new RateLimiter(timing)
  const pauses: number[] = []
  const pause = async () => {
    await refuse(limiter)
    pauses.push(limiter.pausedMs)
    await timing.move(limiter.pausedMs)
  }
  for (let times = 0; times < 4; times += 1) await pause()
  await succeed(limiter)
  await pause()
  assert.deepEqual(pauses, [125, 250, 500, 1_000, 125])
})

test('a node that is down is asked again within seconds, however long it was down', async () => {
  const timing = handTiming()
  const limiter = new RateLimiter(timing)
  for (let times = 0; times < 20; times += 1) {
    await refuse(limiter, 'unreachable')
    assert.ok(limiter.pausedMs <= 4_000)
    await timing.move(limiter.pausedMs)
  }
})

test('an urgent request does not sit out a long pause: it fails with the reason', async () => {
  const limiter = new RateLimiter(handTiming())
  await refuse(limiter, 'too-fast', 60_000)
  await assert.rejects(
    limiter.run(urgent, async () => undefined),
    /retrying in 60 s/,
  )
})

test('a request that was cancelled is not sent', async () => {
  const timing = handTiming()
  const limiter = new RateLimiter(timing)
  const [first] = begin(limiter, 4)
  const stop = new AbortController()
  const cancelled = limiter.run({ urgent: false, signal: stop.signal }, async () =>
    assert.fail('it was sent'),
  )
  stop.abort()
  first?.resolve()
  await assert.rejects(cancelled, /cancelled by the caller/)
})
