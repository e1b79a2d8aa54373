import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { findStrace } from '#test/strace.ts'
import { type KillOutcome, type KillStage, prepareKillStage } from './kill-stage.ts'

/** So many of some hundred writes; `kill-at-every-write.ts` kills at all of them. */
const KILLS = 2

let stage: KillStage | undefined
after(() => stage?.stop())

test('whatever was acknowledged is there after kill -9 at any write of the accounts, and the audit finds nothing', async () => {
  stage = await prepareKillStage(await findStrace())
  const writes = (await stage.count(['pwrite64'])).get('pwrite64') ?? 0
  assert.ok(writes > 50, `a story of ${writes} writes`)
  let kills = 0
  for (let index = 0; index < KILLS; index += 1) {
    const at = 2 + Math.round((index * (writes - 10)) / KILLS)
    const outcome: KillOutcome = await stage.kill('pwrite64', at)
    assert.deepEqual(outcome.broken, [], `killed at write ${at} of ${writes}`)
    kills += Number(outcome.killed)
  }
  // How often leases are prolonged is chance, so the last run may make a few writes less.
  assert.ok(kills >= KILLS - 1, `${kills} kills`)
})
