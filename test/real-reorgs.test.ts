import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { auditService } from './audit-service.ts'
import { reorgUnderLoad, startLiveWorld } from './simulation/reorgs-under-load.ts'
import type { World } from './world.ts'

/** Up to what a real chain may take back before it is final; `simulation/real-reorgs.ts --all` tries each. */
const depths = [1, 3, 13, 40]

let world: World
before(async () => {
  world = await startLiveWorld()
})
after(() => world.stop())

test('the index follows a live chain through reorgs of depth 1 to 40 while the API is called', async () => {
  const { reorgs, calls } = await reorgUnderLoad(world, { depths, tell: () => undefined })
  assert.ok(reorgs >= depths.length)
  assert.ok(calls > 10, `${calls} calls`)
})

test('the audit finds nothing after the reorgs', async () => {
  assert.deepEqual(await auditService(world), [])
})
