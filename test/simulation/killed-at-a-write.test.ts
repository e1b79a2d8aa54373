import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Engine } from '#store/engine.ts'
import { findStrace } from '#test/strace.ts'
import { countCalls, indexUninterrupted, killAndCompare } from './kills/kill-and-compare.ts'
import { type KillWorld, makeKillWorld } from './kills/kill-world.ts'

/** So many of some hundred writes; `kill-at-every-write.ts` kills at all of them. */
const KILLS = 2

let world: KillWorld | undefined
let reference: Engine | undefined
after(async () => {
  await reference?.close()
  await world?.stop()
})

test('an index that is killed at any write of a backfill goes on to the same register', async () => {
  world = await makeKillWorld(1)
  const deps = { strace: await findStrace(), world }
  reference = await indexUninterrupted(deps)
  const writes = (await countCalls(deps, ['pwrite64'])).get('pwrite64') ?? 0
  assert.ok(writes > 100, `a backfill of ${writes} writes`)
  let kills = 0
  for (let index = 0; index < KILLS; index += 1) {
    const at = 1 + Math.round((index * (writes - 1)) / KILLS)
    const outcome = await killAndCompare(deps, { reference, kill: { call: 'pwrite64', at } })
    assert.equal(outcome.difference, undefined, `killed at write ${at}`)
    kills += Number(outcome.killed)
  }
  // The last run may make a few writes less than the one that was counted.
  assert.ok(kills >= KILLS - 1, `${kills} kills`)
})
