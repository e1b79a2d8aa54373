import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findStrace } from '#test/strace.ts'
import { breakSqlite } from './fault-places.ts'

/** Long enough for hundreds of commits; `break-stores.ts` does all faults, on both engines, and longer. */
const LASTS_MS = 1_000

/** Leaves most of the processor to others; `break-stores.ts` calls without a pause. */
const PAUSE_MS = 10

const mayMount = process.getuid?.() === 0 && process.platform === 'linux'

test('a full disk: calls get 503 while it lasts, are served again by themselves, and each 200 is counted once', {
  skip: !mayMount && 'only root can mount a small disk',
}, async () => {
  const { violations, answers, audit } = await breakSqlite(await findStrace(), {
    fault: 'full disk',
    lastsMs: LASTS_MS,
    pauseMs: PAUSE_MS,
  })
  assert.deepEqual(violations, [])
  for (const what of ['data 200 quota', 'data 503 none'])
    assert.ok((answers.get(what) ?? 0) > 0, `some calls ended ${what}`)
  assert.equal(audit.code, 0, audit.words)
})
