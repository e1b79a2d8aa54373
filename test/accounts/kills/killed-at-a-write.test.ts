import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { KillStage } from '#test/kill-stage.ts'
import { findStrace } from '#test/strace.ts'
import { prepareAccountsKills } from './accounts-kills.ts'

let stage: KillStage | undefined
after(() => stage?.stop())

/** In the middle of the story. */
const AT = 117

/** `test/kill-at-every-write.ts` kills at each of them. */
test('whatever was acknowledged is there after kill -9 at a write of the accounts, and the audit finds nothing', async () => {
  stage = await prepareAccountsKills(await findStrace())
  const { broken, killed, step } = await stage.kill('pwrite64', AT)
  assert.deepEqual(broken, [])
  assert.equal(killed, true)
  assert.ok(step !== undefined, 'it was asked for something')
})
