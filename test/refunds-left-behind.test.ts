import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startOfDay } from '#lib/time.ts'
import { startAccountsWorld } from './accounts/world/accounts-world.ts'
import { createApiClient } from './api-client.ts'
import { eventually } from './world.ts'

test('a service makes the refunds that a killed process left in the data folder', async () => {
  const world = await startAccountsWorld({
    quotas: { anonymous: 500, free: 2_000, premium: 50_000 },
  })
  after(() => world.stop())
  const first = await world.start('start')
  await first.ready()
  for (let call = 0; call < 3; call += 1)
    assert.equal((await fetch(`${first.url}/api/stats`)).status, 200)
  const counted = async (url: string) => {
    const api = await createApiClient(url)
    return (await api.get('/api/usage')).body.requestCount
  }
  assert.equal(await counted(first.url), 3)
  await first.kill()

  const receipt = {
    id: 'killed:1:1',
    bucket: '127.0.0.1',
    day: startOfDay(Math.floor(Date.now() / 1_000)),
    ...{ source: 'quota', account: null, countedKey: null },
  }
  const journal = join(world.dataFolder, 'refunds-killed.journal')
  writeFileSync(journal, `\n${JSON.stringify({ price: '100', receipt })}\n`)
  const second = await world.start('start')
  await second.ready()
  await eventually(async () => ((await counted(second.url)) === 2 ? true : undefined), 20_000)
  assert.ok(!existsSync(journal))
  await second.stop()
})
