import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Seats } from './seats.ts'

test('the last seats are for callers who have none, and each caller has a bounded number', () => {
  const seats = new Seats({ clock: () => 0, max: 100 })
  const { signal } = new AbortController()
  const open = (...names: string[]) => {
    const seat = seats.take(names)
    seat?.occupy(signal)
    return seat
  }
  const own = Array.from({ length: 60 }, () => open('ip:a', 'wallet:a'))
  assert.equal(own.filter((each) => each !== undefined).length, 50)
  assert.equal(open('ip:b', 'wallet:a'), undefined, 'the wallet from another address')
  for (let n = 0; n < 40; n += 1) assert.ok(open(`ip:${n}`) !== undefined)
  assert.equal(open('ip:1'), undefined)
  assert.ok(open('ip:new') !== undefined)
  own[0]?.leave()
  own[0]?.leave()
  assert.ok(open('ip:other') !== undefined)
})

test('a caller who reconnects often is asked to wait longer each time', () => {
  let nowMs = 0
  const seats = new Seats({ clock: () => nowMs })
  const retries = Array.from({ length: 12 }, () => {
    const seat = seats.take(['ip:a'])
    seat?.leave()
    return seat?.retryMs
  })
  assert.deepEqual(retries.slice(0, 7), [2_000, 2_000, 2_000, 2_000, 2_000, 4_000, 8_000])
  assert.equal(retries.at(-1), 60_000)
  nowMs = 120_000
  assert.equal(seats.take(['ip:a'])?.retryMs, 2_000)
})
