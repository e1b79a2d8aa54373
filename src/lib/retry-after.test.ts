import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SextonError } from '#client/problem.ts'
import { retryAfterMs } from './retry-after.ts'

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
    const error = new SextonError(new Response('', { status: 503, headers }), undefined)
    assert.equal(error.retryAfterSeconds, ms === undefined ? undefined : ms / 1_000)
  })

test('without the header there is nothing to wait for', () => {
  assert.equal(retryAfterMs(undefined, nowMs), undefined)
})
