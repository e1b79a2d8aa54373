import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anonymousCaller } from '#accounts/metering/callers.ts'
import { rateLimitAfterRefusal, rememberedRateLimit } from '#api/wire.ts'
import { DAY_SECONDS, startOfDay } from '#base/time.ts'
import { NOON_MS, startHarness } from '#test/http/api-harness.ts'

test('a rate-limit state that is remembered from before midnight is not shown after it', async () => {
  const midnight = startOfDay(NOON_MS / 1_000) + DAY_SECONDS
  let nowMs = midnight * 1_000 - 100
  const { ctx, counts, server } = await startHarness({ clock: () => nowMs })
  const caller = anonymousCaller(ctx, '127.0.0.1')
  counts.set('127.0.0.1', 2)
  await rateLimitAfterRefusal(ctx, caller)
  assert.equal(rememberedRateLimit(ctx, caller).requestCount, 2)
  nowMs += 200
  assert.equal(rememberedRateLimit(ctx, caller).resetUnix, midnight + DAY_SECONDS)
  assert.equal((await rateLimitAfterRefusal(ctx, caller)).resetUnix, midnight + DAY_SECONDS)
  await server.stop()
})
