import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_SECONDS, startOfDay } from '#lib/time.ts'
import { forecastRunOut, forecastSince } from './forecast.ts'

const MIDNIGHT = startOfDay(1_795_000_000)
const NOON = MIDNIGHT + DAY_SECONDS / 2

test('a steady pace is told alike in the morning and in the evening', () => {
  for (const nowUnix of [MIDNIGHT + 60, NOON, MIDNIGHT + DAY_SECONDS - 60]) {
    const seconds = nowUnix - forecastSince(nowUnix)
    const spent = BigInt(seconds) * 10n
    const forecast = forecastRunOut({ balance: 8_640_000n, spent, nowUnix })
    assert.equal(forecast.perDay, 864_000n)
    assert.equal(forecast.daysLeft, 10)
  }
})

test('who spent nothing never runs out, and who has nothing ran out already', () => {
  assert.equal(forecastRunOut({ balance: 5n, spent: 0n, nowUnix: NOON }).daysLeft, null)
  assert.equal(forecastRunOut({ balance: 0n, spent: 100n, nowUnix: NOON }).daysLeft, 0)
})

test('the largest balance at the slowest pace is still a number', () => {
  const { daysLeft } = forecastRunOut({ balance: 2n ** 53n - 1n, spent: 1n, nowUnix: NOON })
  assert.ok(daysLeft !== null && Number.isFinite(daysLeft))
})
