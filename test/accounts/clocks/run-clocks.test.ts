import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { findFaketime } from '#test/faketime.ts'
import { runClocks } from './run-clocks.ts'

/** How long callers go on after each move of the clocks: until midnight has passed on each of them. */
const STAY_MS = 1_800

/** Leaves most of the processor to others; `move-clocks.ts` calls without a pause, on replicas too. */
const PAUSE_MS = 10

let libfaketime: string
before(async () => {
  libfaketime = await findFaketime()
})

test('nobody passes the quota of a UTC day and every reset lies ahead while the clock passes midnight and jumps', async () => {
  const { violations, answers, days } = await runClocks({
    libfaketime,
    databaseUrl: undefined,
    stayMs: STAY_MS,
    pauseMs: PAUSE_MS,
    onMove: () => undefined,
  })
  assert.deepEqual(violations, [])
  for (const what of ['data 200 quota', 'data 402 none'])
    assert.ok((answers.get(what) ?? 0) > 0, `some calls ended ${what}`)
  assert.ok(days >= 3, `calls were counted on ${days} days`)
})
