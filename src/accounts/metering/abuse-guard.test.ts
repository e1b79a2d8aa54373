import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gateRoute } from '#accounts/keys/gate-route.ts'
import { readConfig } from '#config.ts'
import { DEFAULT_QUOTAS } from '#domain/tier.ts'
import { createFailureGuard, createGuard } from './abuse-guard.ts'

test('a loop through a day of free calls meets no 429 where nothing else is configured', () => {
  const { burst, perMinute } = readConfig({}, { isTty: false }).guard.general
  const general = { burst, refillPerSecond: perMinute / 60 }
  const limits = { general, mint: general, gate: general, claim: general, webhook: general }
  const guard = createGuard({ clock: () => 0, limits })
  for (let n = 0; n < 2_001; n += 1) assert.equal(guard('192.0.2.1', undefined), undefined)
})

test('an address that runs dry is told when to come back, and then may', () => {
  let now = 0
  const limit = { burst: 3, refillPerSecond: 0.5 }
  const guard = createGuard({
    clock: () => now,
    limits: { general: limit, mint: limit, gate: limit, claim: limit, webhook: limit },
  })
  for (let n = 0; n < 3; n += 1) assert.equal(guard('192.0.2.1', 'mint'), undefined)
  const refused = guard('192.0.2.1', 'mint')
  assert.equal(refused?.code, 'rate_limited')
  assert.equal(refused?.retryAfterSeconds, 2)
  assert.equal(guard('192.0.2.1', 'claim'), undefined)
  assert.equal(guard('192.0.2.1', 'gate'), undefined)
  assert.equal(guard('192.0.2.2', 'mint'), undefined)
  now += 2_000
  assert.equal(guard('192.0.2.1', 'mint'), undefined)
  assert.equal(guard('192.0.2.1', 'mint')?.code, 'rate_limited')
  now -= 60_000
  assert.equal(guard('192.0.2.1', 'mint')?.code, 'rate_limited')
})

test('reading the gate takes no token from revoking a key', () => {
  const limit = { burst: 1, refillPerSecond: 0.5 }
  const limits = { general: limit, mint: limit, gate: limit, claim: limit, webhook: limit }
  const guard = createGuard({ clock: () => 0, limits })
  const gate = gateRoute({ gate: 'open', quotas: DEFAULT_QUOTAS, shares: async () => [] })
  assert.equal(guard('192.0.2.1', gate.guard), undefined)
  assert.equal(guard('192.0.2.1', gate.guard)?.code, 'rate_limited')
  assert.equal(guard('192.0.2.1', 'mint'), undefined)
})

test('a flood of cheap requests from many addresses gives nobody new tokens for minting', () => {
  const limit = { burst: 1, refillPerSecond: 0.5 }
  const limits = { general: limit, mint: limit, gate: limit, claim: limit, webhook: limit }
  const guard = createGuard({ clock: () => 0, limits, bucketsMax: 4 })
  assert.equal(guard('192.0.2.1', 'mint'), undefined)
  for (let n = 2; n < 50; n += 1) guard(`192.0.2.${n}`, undefined)
  assert.equal(guard('192.0.2.1', 'mint')?.code, 'rate_limited')
})

test('only failures count against an address, they expire, and the number of remembered addresses is bounded', () => {
  let now = 0
  const limit = { burst: 2, refillPerSecond: 0.5 }
  const guard = createFailureGuard({ clock: () => now, limit, message: 'too many', bucketsMax: 3 })
  for (let n = 0; n < 100; n += 1) assert.equal(guard.refusal('192.0.2.1'), undefined)
  for (let n = 0; n < 2; n += 1) guard.failed('192.0.2.1')
  const refused = guard.refusal('192.0.2.1')
  assert.deepEqual([refused?.code, refused?.message], ['rate_limited', 'too many'])
  assert.equal(guard.refusal('192.0.2.2'), undefined)
  now += 2_000
  assert.equal(guard.refusal('192.0.2.1'), undefined)
  guard.failed('192.0.2.1')
  assert.equal(guard.refusal('192.0.2.1')?.retryAfterSeconds, 2)
  for (let n = 2; n < 5; n += 1) guard.failed(`192.0.2.${n}`)
  assert.equal(guard.refusal('192.0.2.1'), undefined)
})
