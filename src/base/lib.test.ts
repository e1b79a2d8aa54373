import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { it, test } from 'node:test'
import fc from 'fast-check'
import { freePort } from '#base/free-port.ts'
import { formatDecimal, parseDecimal, percentage, toShare } from '#base/money.ts'
import { retryAfterMs } from '#base/retry-after.ts'
import { SextonError } from '#client/problem.ts'
import { fromStored, toStored, toStoredText } from '#db/sql.ts'
import { allEnded, Mutex, TtlCache } from './async.ts'
import { countNoun } from './text.ts'
import { lastDays, nextMidnight, startOfDay, toDate } from './time.ts'

const u256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })
const sum = fc.bigInt({ min: -(2n ** 400n), max: 2n ** 400n })
const integer = fc.oneof(sum, u256, fc.bigInt({ min: -1_000n, max: 1_000n }))

test('a stored integer of any size reads back as itself and orders as text like the number', () => {
  fc.assert(
    fc.property(integer, integer, (a, b) => {
      assert.equal(fromStored(toStored(a)), a)
      assert.equal(toStored(a) < toStored(b), a < b)
    }),
  )
})

test('a formatted decimal parses back to the same base units', () => {
  fc.assert(
    fc.property(u256, fc.integer({ min: 0, max: 30 }), (raw, decimals) => {
      const text = formatDecimal(raw, decimals)
      assert.equal(parseDecimal(text, decimals), raw)
      assert.doesNotMatch(text, /e|\.$|\.[0-9]*0$/)
    }),
  )
})

test('a decimal that is too fine, signed or in exponent form is refused', () => {
  for (const text of ['0.0000001', '-1', '+1', '1e3', '1.', '.5', '01', '', ' 1', '1,5'])
    assert.equal(parseDecimal(text, 6), undefined, text)
})

test('a window of n days is gap-free and ends with the day of the given time', () => {
  const days = lastDays(1_795_000_000, 30)
  assert.equal(days.length, 30)
  assert.equal(days.at(-1), startOfDay(1_795_000_000))
  for (const [index, day] of days.entries()) assert.equal(day, (days[0] ?? 0) + index * 86_400)
  assert.equal(toDate(0), '1970-01-01')
})

test('the next midnight is always later than now', () => {
  assert.equal(nextMidnight(86_400), 172_800)
  assert.equal(nextMidnight(86_399), 86_400)
})

test('a percentage of nothing is zero and of a whole is exact', () => {
  assert.equal(percentage(1n, 0n), 0)
  assert.equal(percentage(1n, 8n), 12.5)
})

test('a mutex runs tasks in order, also after one that failed', async () => {
  const mutex = new Mutex()
  const seen: number[] = []
  const failing = mutex.run(async () => {
    seen.push(1)
    throw new Error('first')
  })
  await Promise.all([
    assert.rejects(failing, /first/),
    mutex.run(async () => {
      seen.push(2)
    }),
  ])
  assert.deepEqual(seen, [1, 2])
})

test('a NUL in a text from outside does not reach a store that has none', () => {
  assert.equal(toStoredText('a\u0000b'), 'a\uFFFDb')
  assert.equal(toStoredText('a\uD800b'), 'a\uFFFDb')
})

test('what is burned of nothing newly minted is an unknown share, not none', () => {
  assert.deepEqual([toShare(221n, 0n), toShare(0n, 0n), toShare(1n, 4n)], [null, 0, 25])
})

test('one is singular, every other number plural', () => {
  const shown = [0, 1, 2].map((count) => countNoun(count, 'difference'))
  assert.deepEqual(shown, ['0 differences', '1 difference', '2 differences'])
})

const nowMs = Date.UTC(2026, 0, 1)

const waits: readonly (readonly [string, number | undefined])[] = [
  ['7', 7_000],
  ['86400', 86_400_000],
  ['Thu, 01 Jan 2026 00:00:20 GMT', 20_000],
  ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
  ['soon', undefined],
]

for (const [header, ms] of waits)
  test(`Retry-After: ${header} means the same to nodes, webhooks and the client`, () => {
    assert.equal(retryAfterMs(header, nowMs), ms)
    const headers = { 'retry-after': header, date: new Date(nowMs).toUTCString() }
    const error = new SextonError(new Response('', { status: 503, headers }), undefined, '')
    assert.equal(error.retryAfterSeconds, ms === undefined ? undefined : ms / 1_000)
  })

test('without the header there is nothing to wait for', () => {
  assert.equal(retryAfterMs(undefined, nowMs), undefined)
})

test('a wanted port is given while it is free; nobody else is given one by the system', async () => {
  const port = await freePort()
  assert.ok(port >= 10_000 && port < 32_768)
  assert.equal(await freePort(port), port)
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  assert.notEqual(await freePort(port), port)
  server.close()
})

it('what is forgotten while it is loaded is loaded anew', async () => {
  const loads: PromiseWithResolvers<string>[] = []
  const cache = new TtlCache<string>({ max: 10, ttlMs: 500, clock: () => 1_000 })
  const get = () =>
    cache.get('key', () => {
      const load = Promise.withResolvers<string>()
      loads.push(load)
      return load.promise
    })
  const before = get()
  cache.forget('key')
  loads[0]?.resolve('good')
  assert.equal(await before, 'good')
  const waiting = get()
  loads[1]?.resolve('revoked')
  assert.equal(await waiting, 'revoked')
  assert.equal(await get(), 'revoked')
})

it('all who ask in time get one reading, after a failure another, and a clock set back keeps none', async () => {
  let nowMs = 5_000
  let readings = 0
  const cache = new TtlCache<number>({ max: 10, ttlMs: 1_000, clock: () => nowMs })
  const read = () =>
    cache.get('key', async () => {
      readings += 1
      if (readings === 2) throw new Error('down')
      return readings
    })
  assert.deepEqual(await Promise.all([read(), read()]), [1, 1])
  nowMs += 999
  assert.equal(await read(), 1)
  assert.equal(cache.leftMs('key'), 1)
  nowMs += 1
  await assert.rejects(read(), /down/)
  assert.equal(await read(), 3)
  nowMs -= 10_000
  assert.equal(cache.leftMs('key'), 0)
  assert.equal(await read(), 4)
  assert.equal(cache.leftMs('key'), 1_000)
})

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
