import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LRUCache } from 'lru-cache'
import type { Caller } from '#domain/caller.ts'
import { DAY_SECONDS, nextMidnight } from '#lib/time.ts'
import { type FiguresDeps, figuresAfterRefusal, noFigures, rememberedFigures } from './figures.ts'

const MIDNIGHT = 20_000 * DAY_SECONDS

const caller: Caller = {
  kind: 'anonymous',
  identity: 'ip:192.0.2.1',
  bucket: '192.0.2.1',
  tier: 'anonymous',
  dailyQuota: 500,
}

test('figures that are remembered from before midnight are not shown after it', async () => {
  let nowMs = MIDNIGHT * 1_000 - 100
  const clock = () => nowMs
  const deps: FiguresDeps = {
    clock,
    remembered: new LRUCache({ max: 10 }),
    meter: {
      figures: async () => ({ ...noFigures(caller, nowMs), prepaidBalance: 0n, requestCount: 7 }),
    },
  }
  await figuresAfterRefusal(deps, caller)
  assert.equal(rememberedFigures(deps, caller).requestCount, 7)
  nowMs += 200
  const tomorrow = nextMidnight(MIDNIGHT)
  assert.equal(rememberedFigures(deps, caller).resetUnix, tomorrow)
  assert.equal((await figuresAfterRefusal(deps, caller)).resetUnix, tomorrow)
})
