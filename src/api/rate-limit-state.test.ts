import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '#domain/caller.ts'
import { DAY_SECONDS, nextMidnight } from '#lib/time.ts'
import { testContext } from '#test/test-context.ts'
import { nothingLeft, rateLimitAfterRefusal, rememberedRateLimit } from './rate-limit-state.ts'

const MIDNIGHT = 20_000 * DAY_SECONDS

const caller: Caller = {
  kind: 'anonymous',
  identity: 'ip:192.0.2.1',
  bucket: '192.0.2.1',
  tier: 'anonymous',
  dailyQuota: 500,
}

test('a rate-limit state that is remembered from before midnight is not shown after it', async () => {
  let nowMs = MIDNIGHT * 1_000 - 100
  const ctx = testContext({ clock: () => nowMs })
  const deps = {
    ctx,
    meter: {
      rateLimit: async () => ({
        ...nothingLeft(caller, nowMs),
        prepaidBalance: 0n,
        requestCount: 7,
      }),
    },
  }
  await rateLimitAfterRefusal(deps, caller)
  assert.equal(rememberedRateLimit(ctx, caller).requestCount, 7)
  nowMs += 200
  const tomorrow = nextMidnight(MIDNIGHT)
  assert.equal(rememberedRateLimit(ctx, caller).resetUnix, tomorrow)
  assert.equal((await rateLimitAfterRefusal(deps, caller)).resetUnix, tomorrow)
})
