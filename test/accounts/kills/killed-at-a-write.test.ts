import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { KillOutcome, KillStage } from '#test/kill-stage.ts'
import { findStrace } from '#test/strace.ts'
import { prepareAccountsKills } from './accounts-kills.ts'

let stage: KillStage | undefined
after(() => stage?.stop())

/** `test/kill-at-every-write.ts` kills at each of them. */
test('whatever was acknowledged is there after kill -9 at a write of the accounts, and the audit finds nothing', async () => {
  stage = await prepareAccountsKills(await findStrace())
  const writes = (await stage.count(['pwrite64'])).get('pwrite64') ?? 0
  assert.ok(writes > 50, `a story of ${writes} writes`)
  const at = Math.round(writes / 2)
  const outcome: KillOutcome = await stage.kill('pwrite64', at)
  assert.deepEqual(outcome.broken, [], `killed at write ${at} of ${writes}`)
  assert.equal(outcome.killed, true)
})
