import assert from 'node:assert/strict'
import { it, test } from 'node:test'
import fc from 'fast-check'
import { formatDecimal, parseDecimal } from '#base/money.ts'
import { retryAfterMs } from '#base/time.ts'
import { SextonError } from '#client/problem.ts'
import { fromStored, toStored, toStoredText } from '#db/sql.ts'
import { TtlCache } from './async.ts'

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

test('a NUL in a text from outside does not reach a store that has none', () => {
  assert.equal(toStoredText('a\u0000b'), 'a\uFFFDb')
  assert.equal(toStoredText('a\uD800b'), 'a\uFFFDb')
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
