import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '#base/caller.ts'
import { readConfig } from '#config.ts'
import { anonymous, keyed } from '#test/callers/meter-harness.ts'
import { testContext } from '#test/test-context.ts'
import { createBuckets, type GuardKind, guardCall } from './abuse-guard.ts'
import { gateRoute } from './tier.ts'

const PLAIN = readConfig({}, { isTty: false })

/** The guard of a process with these limits, at a time that the test moves. */
function guardWith(limit = { burst: 1, perMinute: 30 }, now = { ms: 0 }) {
  const guard = { general: limit, mint: limit, claim: limit }
  const ctx = testContext({ config: { ...PLAIN, guard }, clock: () => now.ms })
  return (addressBucket: string, kind?: GuardKind, caller: Caller = anonymous(addressBucket)) =>
    guardCall(ctx, caller, addressBucket, kind)
}

test('a loop through a day of free calls meets no 429 where nothing else is configured', () => {
  const guard = guardWith(PLAIN.guard.general)
  for (let n = 0; n < 2_001; n += 1) assert.equal(guard('192.0.2.1'), undefined)
})

test('an address that runs dry is told when to come back, and then may', () => {
  const now = { ms: 0 }
  const guard = guardWith({ burst: 3, perMinute: 30 }, now)
  for (let n = 0; n < 3; n += 1) assert.equal(guard('192.0.2.1', 'mint'), undefined)
  const refused = guard('192.0.2.1', 'mint')
  assert.equal(refused?.code, 'rate_limited')
  assert.equal(refused?.retryAfterSeconds, 2)
  assert.equal(guard('192.0.2.1', 'claim'), undefined)
  assert.equal(guard('192.0.2.1', 'gate'), undefined)
  assert.equal(guard('192.0.2.2', 'mint'), undefined)
  now.ms += 2_000
  assert.equal(guard('192.0.2.1', 'mint'), undefined)
  assert.equal(guard('192.0.2.1', 'mint')?.code, 'rate_limited')
  now.ms -= 60_000
  assert.equal(guard('192.0.2.1', 'mint')?.code, 'rate_limited')
})

test('reading the gate takes no token from revoking a key', () => {
  const guard = guardWith()
  const gate = gateRoute(testContext())
  assert.equal(guard('192.0.2.1', gate.guard), undefined)
  assert.equal(guard('192.0.2.1', gate.guard)?.code, 'rate_limited')
  assert.equal(guard('192.0.2.1', 'mint'), undefined)
})

test('a flood of cheap requests from many addresses gives nobody new tokens for minting', () => {
  const guard = guardWith()
  assert.equal(guard('192.0.2.1', 'mint'), undefined)
  for (let n = 0; n < 100_001; n += 1) guard(`address ${n}`)
  assert.equal(guard('192.0.2.1', 'mint')?.code, 'rate_limited')
})

test('calls of wallets that are premium or have a balance count for the wallet, not for the address', () => {
  const guard = guardWith({ burst: 2, perMinute: 30 })
  const free = keyed('00000001')
  const premium = keyed('00000002', 20, 'bb')
  const funded = { ...keyed('00000003', 5, 'cc'), hasBalance: true }
  for (const caller of [free, free, premium, premium, funded, funded])
    assert.equal(guard('192.0.2.1', undefined, caller), undefined)
  assert.equal(guard('192.0.2.1', undefined, free)?.code, 'rate_limited')
  // From any address they share what their wallet has.
  for (const caller of [premium, funded])
    assert.equal(guard('192.0.2.2', undefined, caller)?.code, 'rate_limited')
  assert.equal(guard('192.0.2.2'), undefined)
  // What costs more than a call counts for the address.
  assert.equal(guard('192.0.2.3', 'mint', premium), undefined)
  assert.equal(guard('192.0.2.3', 'mint', funded), undefined)
  assert.equal(guard('192.0.2.3', 'mint', funded)?.code, 'rate_limited')
})

test('only failures count against an address, and they expire', () => {
  let now = 0
  const limit = { burst: 2, perMinute: 30 }
  const guard = createBuckets(() => now, limit, 'too many')
  for (let n = 0; n < 100; n += 1) assert.equal(guard.refusal('192.0.2.1'), undefined)
  for (let n = 0; n < 2; n += 1) guard.take('192.0.2.1')
  const refused = guard.refusal('192.0.2.1')
  assert.deepEqual([refused?.code, refused?.message], ['rate_limited', 'too many'])
  assert.equal(guard.refusal('192.0.2.2'), undefined)
  now += 2_000
  assert.equal(guard.refusal('192.0.2.1'), undefined)
  guard.take('192.0.2.1')
  assert.equal(guard.refusal('192.0.2.1')?.retryAfterSeconds, 2)
})
